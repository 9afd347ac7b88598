"""How large may s be on these data: what ``sstep-verify safe-s`` certifies, measures and writes."""

from sstep_verify.safety.certificate import certify
from sstep_verify.safety.curves import Certificate, Curve, Point
from sstep_verify.safety.training import trained_alpha

__all__ = ["Certificate", "Curve", "Point", "certify", "trained_alpha"]
