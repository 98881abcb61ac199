"""The model that scores tests by what lint reads in their source."""
