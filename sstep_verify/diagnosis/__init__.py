"""WHY: which mistake, convention, factor or other problem explains a failure."""
