from .analysis import Analysis as Analysis, analyse as analyse
from .analysis import cost_on_chains as cost_on_chains, tornado as tornado
from .answer import Answer as Answer, whatif as whatif
from .explorer import Explorer as Explorer, explore as explore
from .figures import QUANTITIES as QUANTITIES, evaluate as evaluate
from .page import write as write
from .plan import Plan as Plan
from .plans import OTHER_NAMES as OTHER_NAMES, ready as ready
from .plans import ready_names as ready_names, titles as titles
from .files import load as load
from .sampling import Findings as Findings, run as run
from .sampling import times as times
from .text import conclusions as conclusions
