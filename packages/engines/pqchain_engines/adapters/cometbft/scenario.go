package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// scenario is a run, as one line of JSON.
type scenario struct {
	ID      uint64 `json:"id"`
	Runtime string `json:"runtime"`
	Nodes   int    `json:"nodes"`
	Heights int64  `json:"heights"`
	Warmup  int64  `json:"warmup"`
	Scheme  string `json:"scheme"`
	// Path of a native library of pqchain that has the scheme; empty for the engine's own.
	Library string `json:"library"`
	// Seconds charged in virtual time for a signature, a verification, and none for aggregates.
	SignSeconds      float64 `json:"sign_seconds"`
	VerifySeconds    float64 `json:"verify_seconds"`
	AggregateSeconds float64 `json:"aggregate_seconds"`
	// Latency one way and rate each way of the link of a pair of validators; rate 0: no limit.
	LatencySeconds     float64 `json:"latency_seconds"`
	RateBytesPerSecond float64 `json:"rate_bytes_per_second"`
	BlockBytes         int     `json:"block_bytes"`
	Transactions       int     `json:"transactions"`
	// timeout_propose, peer_gossip_sleep_duration, flush_throttle_timeout and timeout_commit.
	LeaderTimeoutSeconds float64 `json:"leader_timeout_seconds"`
	PollSeconds          float64 `json:"poll_seconds"`
	FlushSeconds         float64 `json:"flush_seconds"`
	CommitTimeoutSeconds float64 `json:"commit_timeout_seconds"`
	LimitSeconds         float64 `json:"limit_seconds"`
	Seed                 uint64  `json:"seed"`
	KilledNode           *int    `json:"killed_node"`
	KilledAfterHeight    int64   `json:"killed_after_height"`
	SlowNode             *int    `json:"slow_node"`
	SlowLatencySeconds   float64 `json:"slow_latency_seconds"`
	// Of each validator, in the runtime netns.
	Namespaces []namespace `json:"namespaces"`
}

// namespace is a network namespace that exists, and its address.
type namespace struct {
	Name string `json:"name"`
	Host string `json:"host"`
}

const maxNodes = 128

func parse(line []byte) (*scenario, error) {
	s := new(scenario)
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("invalid request: %w", err)
	}
	outside := func(node *int) bool { return node != nil && (*node < 0 || *node >= s.Nodes) }
	for _, value := range []float64{
		s.SignSeconds, s.VerifySeconds, s.LatencySeconds, s.RateBytesPerSecond, s.LeaderTimeoutSeconds,
		s.PollSeconds, s.FlushSeconds, s.CommitTimeoutSeconds, s.LimitSeconds, s.SlowLatencySeconds,
	} {
		if value < 0 || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("seconds and rates must be at least 0; got %v", value)
		}
	}
	switch {
	case s.Runtime != "virtual" && s.Runtime != "loopback" && s.Runtime != "netns":
		return nil, fmt.Errorf("runtime must be virtual, loopback or netns; got %q", s.Runtime)
	case s.Nodes < 2 || s.Nodes > maxNodes:
		return nil, fmt.Errorf("nodes must be 2 to %d; got %d", maxNodes, s.Nodes)
	case (s.Runtime == "netns") != (len(s.Namespaces) == s.Nodes):
		return nil, fmt.Errorf("netns needs a namespace for each validator; got %d", len(s.Namespaces))
	case s.Heights < 1 || s.Warmup < 0 || s.Heights+s.Warmup > 20_000:
		return nil, fmt.Errorf("heights must be 1 to 20000; got %d after %d", s.Heights, s.Warmup)
	case s.BlockBytes < 16 || s.BlockBytes > 1<<26 || s.Transactions < 0 || s.Transactions > 100_000:
		return nil, fmt.Errorf("block_bytes must be 16 to %d; got %d", 1<<26, s.BlockBytes)
	case s.PollSeconds == 0:
		return nil, fmt.Errorf("poll_seconds must be above 0; got 0")
	case outside(s.KilledNode) || outside(s.SlowNode):
		return nil, fmt.Errorf("killed_node and slow_node must be below nodes (%d)", s.Nodes)
	}
	return s, nil
}

// latency returns the latency of a link.
func (s *scenario) latency(from, to int) time.Duration {
	if s.SlowNode != nil && (from == *s.SlowNode || to == *s.SlowNode) {
		return seconds(s.SlowLatencySeconds)
	}
	return seconds(s.LatencySeconds)
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }
