from .outcome import Reproduction as Reproduction, WorkResults as WorkResults
from .reproduction import run as run
from .store import results as results
