from .replays import Replay as Replay, contrast as contrast, replay as replay
from .scenario import Scenario as Scenario, preset as preset
from .sweeps import sweep as sweep
