package main

import (
	"context"
	"encoding/binary"

	abci "github.com/cometbft/cometbft/abci/types"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
)

// load is the transactions of every block, signed once and the same at each height, so that making
// them costs nothing during the run, and verifying them does.
type load struct {
	account   *account
	signature int
	signed    int
	txs       [][]byte
}

func newLoad(s *scenario, keyType string) (*load, error) {
	account, err := newAccount(s, keyType)
	if err != nil {
		return nil, err
	}
	l := &load{account: account, signed: s.Transactions}
	if s.Transactions == 0 {
		l.txs = [][]byte{make([]byte, s.BlockBytes)}
		return l, nil
	}
	for i := range s.Transactions {
		body := binary.BigEndian.AppendUint64(nil, uint64(i))
		signature, err := account.sign(body)
		if err != nil {
			return nil, err
		}
		l.signature = len(signature)
		if padding := s.BlockBytes/s.Transactions - len(account.public) - len(signature) - len(body); padding > 0 {
			body = append(body, make([]byte, padding)...)
			if signature, err = account.sign(body); err != nil {
				return nil, err
			}
		}
		l.txs = append(l.txs, append(append(append([]byte{}, account.public...), signature...), body...))
	}
	return l, nil
}

func (l *load) valid(tx []byte) bool {
	n := len(l.account.public)
	return len(tx) >= n+l.signature && l.account.verify(tx[n+l.signature:], tx[n:n+l.signature])
}

// application proposes the load and verifies the signatures of what is proposed.
type application struct {
	abci.BaseApplication
	load      *load
	processor *processor
}

func (a *application) PrepareProposal(context.Context, *abci.RequestPrepareProposal) (*abci.ResponsePrepareProposal, error) {
	return &abci.ResponsePrepareProposal{Txs: a.load.txs}, nil
}

func (a *application) ProcessProposal(_ context.Context, request *abci.RequestProcessProposal) (*abci.ResponseProcessProposal, error) {
	signatures := 0
	for _, vote := range request.ProposedLastCommit.Votes {
		if vote.BlockIdFlag == cmtproto.BlockIDFlagCommit {
			signatures++
		}
	}
	// The engine has verified the last commit just before this call.
	a.processor.verify(request.Height, signatures+a.load.signed)
	if a.load.signed > 0 {
		for _, tx := range request.Txs {
			if !a.load.valid(tx) {
				return &abci.ResponseProcessProposal{Status: abci.ResponseProcessProposal_REJECT}, nil
			}
		}
	}
	return &abci.ResponseProcessProposal{Status: abci.ResponseProcessProposal_ACCEPT}, nil
}

func (a *application) FinalizeBlock(_ context.Context, request *abci.RequestFinalizeBlock) (*abci.ResponseFinalizeBlock, error) {
	results := make([]*abci.ExecTxResult, len(request.Txs))
	for i := range results {
		results[i] = &abci.ExecTxResult{}
	}
	return &abci.ResponseFinalizeBlock{TxResults: results}, nil
}
