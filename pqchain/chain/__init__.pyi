from .block import Block as Block, Header as Header, pack as pack
from .encoding import encoded_size as encoded_size, header_bytes as header_bytes
from .ledger import Ledger as Ledger
from .state import (
    Account as Account,
    BlockRejected as BlockRejected,
    Reason as Reason,
    Rules as Rules,
    State as State,
)
from .transaction import Credential as Credential, Payment as Payment, Transaction as Transaction
from .verification import Verifier as Verifier
from .wallet import Wallet as Wallet
