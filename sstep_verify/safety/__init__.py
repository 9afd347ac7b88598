"""How large may s be on these data: what ``sstep-verify safe-s`` certifies, measures and writes."""

from sstep_verify.safety.certificate import certify, trained_alpha
from sstep_verify.safety.report import Certificate, Curve, Point

__all__ = ["Certificate", "Curve", "Point", "certify", "trained_alpha"]
