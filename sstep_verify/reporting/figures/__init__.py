"""Figures: which curves stand together, their axes, and the SVG that is drawn."""
