package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/crypto/encoding"
	"github.com/cometbft/cometbft/privval"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/types"
	"golang.org/x/sys/unix"
)

// price times a scheme with the engine's own code: messages of 117 bytes, the length of a vote's
// signed bytes, and a decoded public key, as validators keep it; and the steps of a validator.
func price(line []byte) (map[string]any, error) {
	var request struct {
		ID      uint64 `json:"id"`
		PriceOf string `json:"price_of"`
		Library string `json:"library"`
		Samples int    `json:"samples"`
	}
	if err := json.Unmarshal(line, &request); err != nil {
		return nil, fmt.Errorf("invalid request: %w", err)
	}
	if request.Samples < 1 || request.Samples > 100_000 {
		return nil, fmt.Errorf("samples must be 1 to 100000; got %d", request.Samples)
	}
	s := &scenario{Scheme: request.PriceOf, Library: request.Library, Nodes: 4}
	keyType, err := keyType(s.Scheme, s.Library)
	if err != nil {
		return nil, err
	}
	key, err := generate(keyType)
	if err != nil {
		return nil, err
	}
	account, err := newAccount(s, keyType)
	if err != nil {
		return nil, err
	}
	public, message := key.PubKey(), make([]byte, 117)
	packed := public.Bytes()
	transaction, err := account.sign(message)
	if err != nil {
		return nil, err
	}
	var signature []byte
	valid := true
	steps := []step{
		{"sign", 1, func() { signature, err = key.Sign(message) }},
		{"verify", 1, func() { valid = public.VerifySignature(message, signature) }},
		{"decode_key", 1, func() { _, err = encoding.PubKeyFromTypeAndBytes(keyType, packed) }},
		{"transaction", 1, func() { valid = account.verify(make([]byte, 117), transaction) }},
	}
	runtime.LockOSThread()
	times, warmup := timings{}, request.Samples/5
	for i := range request.Samples + warmup {
		if i == warmup {
			clear(times)
		}
		message[0], message[1], message[2] = byte(i), byte(i>>8), byte(i>>16)
		for _, step := range steps {
			if times.add(step); err != nil || !valid {
				return nil, fmt.Errorf("%s: invalid result of %s: %v", s.Scheme, step.name, err)
			}
		}
	}
	prices := map[string]any{"aggregate_seconds": 0.0}
	for name, values := range times {
		slices.Sort(values)
		prices[name+"_seconds"] = values[len(values)/2]
	}
	if times, err = validatorSteps(s, keyType, request.Samples/40+1); err != nil {
		return nil, err
	}
	// Signatures by rejection have a skewed distribution, and a height needs many: the mean.
	for name, values := range times {
		sum := 0.0
		for _, value := range values {
			sum += value
		}
		prices["idle_"+name+"_seconds"] = sum / float64(len(values))
	}
	return prices, nil
}

// step is what is timed; its time is divided by count.
type step struct {
	name  string
	count int
	do    func()
}

type timings map[string][]float64

func (t timings) add(s step) {
	begun := threadSeconds()
	s.do()
	t[s.name] = append(t[s.name], (threadSeconds()-begun)/float64(s.count))
}

// idle is the wait before a step of a validator. In runs of four validators with heights of a second
// one of them signs or verifies each 15 ms; until then caches have lost most of what it needs.
const idle = 15 * time.Millisecond

// validatorSteps times what validators do with signatures and keys at every height, each after a wait:
// sign and save a vote (privval/file.go); verify a vote (types/vote.go), and the commit in a block
// (types/validation.go); load the validators, with their proposer once more, for the application
// (state/execution.go, buildLastCommitInfo); hash and save them (state/validation.go, state/store.go).
func validatorSteps(s *scenario, keyType string, heights int) (timings, error) {
	if err := makeFolder(); err != nil {
		return nil, err
	}
	doc := &types.GenesisDoc{ChainID: "engine", GenesisTime: time.Now(), ConsensusParams: types.DefaultConsensusParams()}
	limitParams(doc.ConsensusParams, keyType)
	files := map[string]*privval.FilePV{}
	for i := range s.Nodes {
		key, err := generate(keyType)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(folder, fmt.Sprint(i))
		files[string(key.PubKey().Address())] = privval.NewFilePV(key, path+".key", path+".state")
		doc.Validators = append(doc.Validators, types.GenesisValidator{PubKey: key.PubKey(), Power: 10})
	}
	chain, err := state.MakeGenesisState(doc)
	if err != nil {
		return nil, err
	}
	store := state.NewStore(dbm.NewMemDB(), state.StoreOptions{})
	set, err := chain.Validators.ToProto()
	if err != nil {
		return nil, err
	}
	hash := make([]byte, 32)
	id := types.BlockID{Hash: hash, PartSetHeader: types.PartSetHeader{Total: 1, Hash: hash}}
	times := timings{}
	measure := func(name string, count int, do func() error) {
		time.Sleep(idle)
		times.add(step{name, count, func() {
			if failed := do(); failed != nil && err == nil {
				err = fmt.Errorf("%s: %s: %w", s.Scheme, name, failed)
			}
		}})
	}
	for height := int64(1); height <= int64(heights) && err == nil; height++ {
		commit := &types.Commit{Height: height, BlockID: id}
		for i, validator := range chain.Validators.Validators {
			vote := &types.Vote{
				Type: cmtproto.PrecommitType, Height: height, BlockID: id, Timestamp: time.Now(),
				ValidatorAddress: validator.Address, ValidatorIndex: int32(i),
			}
			message := vote.ToProto()
			measure("sign", 1, func() error { return files[string(validator.Address)].SignVote(doc.ChainID, message) })
			vote.Signature, vote.Timestamp = message.Signature, message.Timestamp
			measure("verify", 1, func() error { return vote.Verify(doc.ChainID, validator.PubKey) })
			commit.Signatures = append(commit.Signatures, vote.CommitSig())
		}
		measure("commit", s.Nodes, func() error { return chain.Validators.VerifyCommit(doc.ChainID, id, height, commit) })
		measure("decode", s.Nodes+1, func() error { _, err := types.ValidatorSetFromProto(set); return err })
		chain.LastBlockHeight = height
		measure("state", s.Nodes, func() error {
			chain.Validators.Hash()
			chain.NextValidators.Hash()
			return store.Save(chain)
		})
	}
	return times, err
}

// threadSeconds is the processor time of this thread, so that other work on the computer counts little.
func threadSeconds() float64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return float64(t.Sec) + float64(t.Nsec)/1e9
}
