"""The part of a report on predicted scaling."""
