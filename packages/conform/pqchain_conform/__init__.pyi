from .oracles import checks as checks
from .signers import ModelSigner as ModelSigner
from .suite import digests as digests, vectors as vectors, write as write
from .vector import Family as Family, Vector as Vector, families as families
