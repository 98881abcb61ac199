STATE = {"rate": 1.0}
CACHE = []
