"""What checks have in common: a case, a finding, and the way from a finding to a verdict."""
