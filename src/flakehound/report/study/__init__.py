"""Reports of studies: text, tables and figures."""
