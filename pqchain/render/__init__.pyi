from .notebook import sentence as sentence, show as show
