from .faults import Faults as Faults
from .model import run as run
from .network import Network as Network, SerialLaw as SerialLaw, named as named
from .runs import Run as Run, frame as frame, over_seeds as over_seeds
from .scenario import Layout as Layout, Scenario as Scenario
from .sweeps import grid as grid, sweep as sweep
