from .outcome import Reproduction as Reproduction, WorkResults as WorkResults
from .reproduction import results as results, run as run
