"""The models of measured features that `hunt --policy cannier` uses."""
