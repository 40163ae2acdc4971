package main

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cometbft/cometbft/consensus"
	"github.com/cometbft/cometbft/p2p"
	cmtcons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	"github.com/cosmos/gogoproto/proto"
)

// observer is the engine's consensus reactor behind a link. It counts the messages that arrive; in
// virtual time it delivers them later, by the latency and rate of their link, and charges signatures.
type observer struct {
	*consensus.Reactor
	scenario  *scenario
	recorder  *recorder
	processor *processor
	index     int
	indices   map[p2p.ID]int
	random    *rand.Rand

	mutex    sync.Mutex
	links    map[p2p.ID]link
	inbox    map[p2p.ID]chan delivery
	work     chan p2p.Envelope
	verified map[voteKey]bool
}

// link is that from a peer: when it is idle, the last flush, and the room in the last frame.
type link struct {
	idle, flushed time.Time
	room          int
}

type delivery struct {
	due      time.Time
	envelope p2p.Envelope
}

// voteKey identifies a vote, or a proposal by the type 0.
type voteKey struct {
	height int64
	round  int32
	kind   int32
	index  int32
}

// Lengths of CometBFT's p2p layer: payload of a packet, with its header, and sealed frames.
const (
	packetBytes       = 1024
	packetHeaderBytes = 14
	frameBytes        = 1024
	sealedFrameBytes  = 1044
)

func (o *observer) start() {
	o.links, o.inbox = map[p2p.ID]link{}, map[p2p.ID]chan delivery{}
	o.work, o.verified = make(chan p2p.Envelope, 1<<16), map[voteKey]bool{}
	go func() {
		for envelope := range o.work {
			o.verify(envelope)
			o.Reactor.Receive(envelope)
		}
	}()
}

// AddPeer starts the gossip routines. In virtual time each pair starts at a random phase of the poll
// interval; otherwise all validators would poll at the same instants.
func (o *observer) AddPeer(peer p2p.Peer) {
	if o.scenario.Runtime != "virtual" {
		o.Reactor.AddPeer(peer)
		return
	}
	phase := seconds(o.random.Float64() * o.scenario.PollSeconds)
	time.AfterFunc(phase, func() { o.Reactor.AddPeer(peer) })
}

// Receive handles a message of a peer.
func (o *observer) Receive(envelope p2p.Envelope) {
	size := 0
	if wrapper, ok := envelope.Message.(p2p.Wrapper); ok {
		size = proto.Size(wrapper.Wrap())
	}
	number, kind := describe(envelope.Message)
	o.recorder.sent(number, kind, size)
	if o.scenario.Runtime != "virtual" {
		o.Reactor.Receive(envelope)
		return
	}
	source := envelope.Src.ID()
	now := time.Now()
	o.mutex.Lock()
	l := o.links[source]
	if l.idle.Before(now) {
		l.idle = now
	}
	if !l.flushed.Equal(now) {
		l.flushed, l.room = now, 0 // Messages share a frame if they are flushed together.
	}
	if rate := o.scenario.RateBytesPerSecond; rate > 0 {
		packets := size/packetBytes + 1
		missing := max(0, size+packetHeaderBytes*packets-l.room)
		frames := (missing + frameBytes - 1) / frameBytes
		l.room += frames*frameBytes - size - packetHeaderBytes*packets
		l.idle = l.idle.Add(seconds(float64(frames*sealedFrameBytes) / rate))
	}
	o.links[source] = l
	inbox := o.inbox[source]
	if inbox == nil {
		inbox = make(chan delivery, 1<<16)
		o.inbox[source] = inbox
		go o.deliver(inbox)
	}
	o.mutex.Unlock()
	inbox <- delivery{l.idle.Add(o.scenario.latency(o.indices[source], o.index)), envelope}
}

func (o *observer) deliver(inbox chan delivery) {
	for item := range inbox {
		time.Sleep(time.Until(item.due))
		if item.envelope.ChannelID == consensus.StateChannel || item.envelope.ChannelID == consensus.VoteSetBitsChannel {
			o.Reactor.Receive(item.envelope)
		} else {
			// The consensus routine handles proposals, parts and votes one after the other.
			o.work <- item.envelope
		}
	}
}

// verify charges the verification of a vote or proposal that has not come before.
func (o *observer) verify(envelope p2p.Envelope) {
	var key voteKey
	switch message := envelope.Message.(type) {
	case *cmtcons.Vote:
		vote := message.Vote
		if o.recorder.hasBegun(o.index, vote.Height+1) {
			return // The engine drops a precommit of the height before once the next has begun.
		}
		key = voteKey{vote.Height, vote.Round, int32(vote.Type), vote.ValidatorIndex}
	case *cmtcons.Proposal:
		key = voteKey{message.Proposal.Height, message.Proposal.Round, 0, 0}
	default:
		return
	}
	if !o.verified[key] {
		o.verified[key] = true
		o.processor.verify(key.height, 1)
	}
}

// describe returns the height and the kind of a message.
func describe(message proto.Message) (int64, string) {
	switch m := message.(type) {
	case *cmtcons.Vote:
		return m.Vote.Height, "vote"
	case *cmtcons.BlockPart:
		return m.Height, "block"
	case *cmtcons.Proposal:
		return m.Proposal.Height, "proposal"
	case *cmtcons.HasVote:
		return m.Height, "has_vote"
	case *cmtcons.NewRoundStep:
		return m.Height, "step"
	case *cmtcons.NewValidBlock:
		return m.Height, "valid_block"
	case *cmtcons.VoteSetMaj23:
		return m.Height, "query"
	case *cmtcons.VoteSetBits:
		return m.Height, "query"
	case *cmtcons.ProposalPOL:
		return m.Height, "other"
	}
	return 0, "other"
}
