package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
	"github.com/cometbft/cometbft/proxy"
	"github.com/cometbft/cometbft/types"
)

// folder has the write-ahead logs of the run.
var folder string

const folderPrefix = "engine-cometbft-"

func makeFolder() error {
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = os.TempDir()
	}
	// A run that was killed could not remove its folder.
	old, _ := filepath.Glob(filepath.Join(parent, folderPrefix+"*"))
	for _, path := range old {
		process := strings.SplitN(strings.TrimPrefix(filepath.Base(path), folderPrefix), "-", 2)[0]
		if _, err := os.Stat("/proc/" + process); os.IsNotExist(err) {
			os.RemoveAll(path)
		}
	}
	var err error
	folder, err = os.MkdirTemp(parent, fmt.Sprintf("%s%d-", folderPrefix, os.Getpid()))
	return err
}

func removeFolder() {
	if folder != "" {
		os.RemoveAll(folder)
	}
}

// validators are the nodes of a run.
type validators struct {
	scenario  *scenario
	recorder  *recorder
	nodes     []*node.Node
	switches  []*p2p.Switch
	addresses []string
	proposers map[string]int
}

// newValidators makes nodes as released, but for the observer and the scenario's intervals.
func newValidators(s *scenario) (*validators, error) {
	keyType, err := keyType(s.Scheme, s.Library)
	if err != nil {
		return nil, err
	}
	load, err := newLoad(s, keyType)
	if err != nil {
		return nil, err
	}
	if err := makeFolder(); err != nil {
		return nil, err
	}
	debug.SetGCPercent(400)
	v := &validators{scenario: s, recorder: newRecorder(s.Nodes), proposers: map[string]int{}}
	genesis := &types.GenesisDoc{ChainID: "engine", GenesisTime: time.Now(), ConsensusParams: types.DefaultConsensusParams()}
	limitParams(genesis.ConsensusParams, keyType)
	keys := make([]crypto.PrivKey, s.Nodes)
	for i := range keys {
		if keys[i], err = generate(keyType); err != nil {
			return nil, err
		}
		public := keys[i].PubKey()
		v.proposers[public.Address().String()] = i
		genesis.Validators = append(genesis.Validators, types.GenesisValidator{PubKey: public, Power: 10})
	}
	if err := genesis.ValidateAndComplete(); err != nil {
		return nil, err
	}
	if v.addresses, err = freeAddresses(s); err != nil {
		return nil, err
	}
	indices := map[p2p.ID]int{}
	random := rand.New(rand.NewPCG(s.Seed, 1))
	for i, key := range keys {
		c := v.config(i)
		config.EnsureRoot(c.RootDir)
		processor := &processor{s, v.recorder}
		nodeKey := &p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
		indices[nodeKey.ID()] = i
		file := privval.NewFilePV(key, c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
		n, err := node.NewNode(c, signer{file, processor}, nodeKey,
			proxy.NewConnSyncLocalClientCreator(&application{load: load, processor: processor}),
			func() (*types.GenesisDoc, error) { return genesis, nil },
			func(*config.DBContext) (dbm.DB, error) { return dbm.NewMemDB(), nil },
			v.recorder.metrics(i), log.NewNopLogger())
		if err != nil {
			return nil, err
		}
		sw, ok := n.Switch().(*p2p.Switch)
		if !ok {
			return nil, fmt.Errorf("the engine has another switch: %T", n.Switch())
		}
		o := &observer{
			Reactor: n.ConsensusReactor(), scenario: s, recorder: v.recorder, processor: processor,
			index: i, indices: indices, random: random,
		}
		o.start()
		sw.RemoveReactor("CONSENSUS", n.ConsensusReactor())
		sw.AddReactor("CONSENSUS", o)
		v.nodes, v.switches = append(v.nodes, n), append(v.switches, sw)
	}
	return v, nil
}

// limitParams admits a key type. The default block holds the longest signatures of 10,000 validators,
// which is more than the engine admits if signatures are those of SLH-DSA.
func limitParams(params *types.ConsensusParams, keyType string) {
	params.Validator.PubKeyTypes = []string{keyType}
	params.Block.MaxBytes = min(params.Block.MaxBytes, types.MaxBlockSizeBytes)
}

// config returns the defaults of a release with what must differ on one computer.
func (v *validators) config(index int) *config.Config {
	s, c := v.scenario, config.DefaultConfig()
	c.SetRoot(filepath.Join(folder, fmt.Sprint(index)))
	c.Moniker = "validator"
	c.RPC.ListenAddress = ""
	c.P2P.ListenAddress = "tcp://" + v.addresses[index]
	c.P2P.PexReactor = false
	c.P2P.AllowDuplicateIP = true
	c.P2P.AddrBookStrict = false
	c.P2P.MaxNumInboundPeers = 2 * maxNodes
	c.P2P.MaxNumOutboundPeers = 2 * maxNodes
	c.P2P.FlushThrottleTimeout = seconds(s.FlushSeconds)
	c.Mempool.Type = config.MempoolTypeNop
	c.TxIndex.Indexer = "null"
	c.Consensus.TimeoutPropose = seconds(s.LeaderTimeoutSeconds)
	c.Consensus.TimeoutCommit = seconds(s.CommitTimeoutSeconds)
	c.Consensus.PeerGossipSleepDuration = seconds(s.PollSeconds)
	return c
}

// freeAddresses returns unused addresses. A node announces the port of its configuration, so 0 fails.
func freeAddresses(s *scenario) ([]string, error) {
	var all []string
	for _, namespace := range s.Namespaces {
		all = append(all, namespace.Host+":26656")
	}
	for range s.Nodes - len(all) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		all = append(all, listener.Addr().String())
	}
	return all, nil
}

// run waits for the heights of the scenario, kills a validator if it says so, and returns the records.
func (v *validators) run(kill func(index int)) []map[string]any {
	s := v.scenario
	ctx, cancel := context.WithTimeout(context.Background(), seconds(s.LimitSeconds))
	defer cancel()
	first, last := s.Warmup+1, s.Warmup+s.Heights
	if s.KilledNode != nil && v.recorder.until(ctx, s.KilledAfterHeight) {
		v.recorder.update(func() { v.recorder.killed[*s.KilledNode] = true })
		kill(*s.KilledNode)
	}
	// Messages of a height are sent until the next has begun.
	v.recorder.until(ctx, last+1)
	var records []map[string]any
	for number := first; number <= last; number++ {
		records = append(records, v.record(number))
	}
	return records
}

func (v *validators) record(number int64) map[string]any {
	s, proposer := v.scenario, -1
	live := 0
	if s.KilledNode != nil && *s.KilledNode == 0 {
		live = 1
	}
	store := v.nodes[live].BlockStore()
	block := store.LoadBlock(number)
	if block != nil {
		proposer = v.proposers[block.ProposerAddress.String()]
	}
	record := v.recorder.record(number, proposer, s.Nodes, s.Nodes-(s.Nodes-1)/3, s.Runtime == "virtual")
	if block == nil {
		record["reason"] = v.reason(number)
		return record
	}
	record["size_bytes"] = block.Size()
	record["commit_bytes"] = block.LastCommit.ToProto().Size()
	signatures := 0
	for _, signature := range block.LastCommit.Signatures {
		if signature.BlockIDFlag == types.BlockIDFlagCommit {
			signatures++
		}
	}
	record["commit_signatures"] = signatures
	return record
}

// reason returns why a height has no block.
func (v *validators) reason(number int64) string {
	limit := types.DefaultConsensusParams().Block.MaxBytes
	if most := types.MaxDataBytesNoEvidence(limit, v.scenario.Nodes); int64(v.scenario.BlockBytes) > most {
		return fmt.Sprintf("a block must have at most %d bytes of transactions; got %d", most, v.scenario.BlockBytes)
	}
	return fmt.Sprintf("no block was committed within %g s", v.scenario.LimitSeconds)
}
