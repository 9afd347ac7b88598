"""Artefacts: folders that hold all it takes to judge a verdict again, kept, read, and judged again."""

from sstep_verify.campaign.artefact.files import EVERY as EVERY
from sstep_verify.campaign.artefact.files import MALFORMED as MALFORMED
from sstep_verify.campaign.artefact.files import NEEDED as NEEDED
from sstep_verify.campaign.artefact.files import SUMS as SUMS
from sstep_verify.campaign.artefact.files import Artefact as Artefact
from sstep_verify.campaign.artefact.files import read_artefact as read_artefact
from sstep_verify.campaign.artefact.files import write_artefact as write_artefact
