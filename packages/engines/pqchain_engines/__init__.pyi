from . import evm as evm, prices as prices
from .certificates import certificate_sizes as certificate_sizes
from .comparison import COMPARED as COMPARED, compare as compare
from .frames import HEIGHTS as HEIGHTS, summarize as summarize
from .registry import build as build, engines as engines
from .runner import run as run
from .setup import Setup as Setup
