"""What the suite catches: solvers with labels, limits of detection, false alarms."""
