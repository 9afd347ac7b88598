"""What explains a final vector that is not the optimum: another convention, or another problem."""
