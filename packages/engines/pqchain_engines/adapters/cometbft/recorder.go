package main

import (
	"context"
	"slices"
	"sort"
	"sync"
	"syscall"
	"time"

	"github.com/cometbft/cometbft/blocksync"
	"github.com/cometbft/cometbft/consensus"
	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/proxy"
	"github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/statesync"
	"github.com/go-kit/kit/metrics"
)

type tally struct{ messages, bytes int }

// height is what all validators reported of a height.
type height struct {
	begun      map[int]time.Time // by validator: it left the step NewHeight
	prepared   []time.Time       // a validator left the step Prevote
	committed  map[int]time.Time
	rounds     map[int]int
	sent       map[string]tally
	signs      int
	verifies   int
	charged    float64
	cpuSeconds float64 // of the process, when the first validator began
}

// recorder collects the reports of all validators; its clock is that of the process.
type recorder struct {
	mutex   sync.Mutex
	heights map[int64]*height
	reached []int64
	killed  map[int]bool
	changed chan struct{}
	started time.Time
}

func newRecorder(nodes int) *recorder {
	return &recorder{
		heights: map[int64]*height{}, reached: make([]int64, nodes), killed: map[int]bool{},
		changed: make(chan struct{}), started: time.Now(),
	}
}

// at returns the record of a height; the caller has the mutex.
func (r *recorder) at(number int64) *height {
	if r.heights[number] == nil {
		r.heights[number] = &height{
			begun: map[int]time.Time{}, committed: map[int]time.Time{}, rounds: map[int]int{},
			sent: map[string]tally{},
		}
	}
	return r.heights[number]
}

func (r *recorder) update(change func()) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change()
}

func (r *recorder) committed(validator int, number int64) {
	now := time.Now()
	r.update(func() {
		r.at(number).committed[validator] = now
		r.reached[validator] = number
		close(r.changed)
		r.changed = make(chan struct{})
	})
}

// left notes that a validator has left a step of its current height.
func (r *recorder) left(validator int, step string) {
	now := time.Now()
	r.update(func() {
		h := r.at(r.reached[validator] + 1)
		switch step {
		case "NewHeight":
			if len(h.begun) == 0 {
				h.cpuSeconds = processorSeconds()
			}
			h.begun[validator] = now
		case "NewRound":
			h.rounds[validator]++
		case "Prevote":
			h.prepared = append(h.prepared, now)
		}
	})
}

func (r *recorder) sent(number int64, kind string, bytes int) {
	r.update(func() {
		h := r.at(number)
		t := h.sent[kind]
		h.sent[kind] = tally{t.messages + 1, t.bytes + bytes}
	})
}

// hasBegun returns true if a validator has begun a height.
func (r *recorder) hasBegun(validator int, number int64) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, begun := r.at(number).begun[validator]
	return begun
}

// until waits until every live validator has committed a height; false after the deadline.
func (r *recorder) until(ctx context.Context, number int64) bool {
	for {
		r.mutex.Lock()
		done, changed := true, r.changed
		for validator, reached := range r.reached {
			done = done && (reached >= number || r.killed[validator])
		}
		r.mutex.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// metrics returns the provider through which the engine reports from its consensus routine.
func (r *recorder) metrics(validator int) node.MetricsProvider {
	return func(string) (*consensus.Metrics, *p2p.Metrics, *mempool.Metrics, *state.Metrics, *proxy.Metrics, *blocksync.Metrics, *statesync.Metrics) {
		m := consensus.NopMetrics()
		m.CommittedHeight = gauge{m.CommittedHeight, func(value float64) { r.committed(validator, int64(value)) }}
		m.StepDurationSeconds = steps{m.StepDurationSeconds, r, validator, ""}
		return m, p2p.NopMetrics(), mempool.NopMetrics(), state.NopMetrics(), proxy.NopMetrics(), blocksync.NopMetrics(), statesync.NopMetrics()
	}
}

type gauge struct {
	metrics.Gauge
	set func(float64)
}

func (g gauge) Set(value float64) { g.set(value) }

type steps struct {
	metrics.Histogram
	recorder  *recorder
	validator int
	step      string
}

func (s steps) With(labels ...string) metrics.Histogram {
	s.step = labels[len(labels)-1]
	return s
}

func (s steps) Observe(float64) { s.recorder.left(s.validator, s.step) }

// record returns a height's line; proposer is -1 if no block was committed.
func (r *recorder) record(number int64, proposer, nodes, quorum int, virtual bool) map[string]any {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	h, next := r.at(number), r.at(number+1)
	rounds := 0
	for _, count := range h.rounds {
		rounds = max(rounds, count-1)
	}
	record := map[string]any{"height": number, "rounds": rounds, "signs": h.signs, "verifies": h.verifies}
	for kind, t := range h.sent {
		record[kind+"_messages"], record[kind+"_bytes"] = t.messages, t.bytes
	}
	start, known := h.start(proposer, rounds)
	if !known {
		return record
	}
	record["start_seconds"] = start.Sub(r.started).Seconds()
	commits := since(start, slices.Collect(values(h.committed)))
	if len(commits) >= quorum {
		record["first_seconds"], record["quorum_seconds"] = commits[0], commits[quorum-1]
	}
	live := 0
	for validator := range nodes {
		if _, committed := h.committed[validator]; committed || !r.killed[validator] {
			live++
		}
	}
	if len(commits) == live && live > 0 {
		record["latency_seconds"] = commits[len(commits)-1]
	}
	if len(h.prepared) >= live {
		record["notarized_seconds"] = since(start, h.prepared)[live-1]
	}
	if following, known := next.start(-1, 0); known {
		first, _ := h.start(-1, 0)
		record["interval_seconds"] = following.Sub(first).Seconds()
		if !virtual {
			record["cpu_seconds"] = next.cpuSeconds - h.cpuSeconds
		}
	}
	if virtual {
		record["cpu_seconds"] = h.charged
	}
	return record
}

// start returns when the proposer began the height: the earliest validator if a later round was needed.
func (h *height) start(proposer, rounds int) (time.Time, bool) {
	if begun, known := h.begun[proposer]; known && rounds == 0 {
		return begun, true
	}
	var first time.Time
	for _, begun := range h.begun {
		if first.IsZero() || begun.Before(first) {
			first = begun
		}
	}
	return first, !first.IsZero()
}

func values[K comparable, V any](m map[K]V) func(yield func(V) bool) {
	return func(yield func(V) bool) {
		for _, value := range m {
			if !yield(value) {
				return
			}
		}
	}
}

// since returns sorted seconds after a time.
func since(start time.Time, times []time.Time) []float64 {
	var all []float64
	for _, t := range times {
		all = append(all, t.Sub(start).Seconds())
	}
	sort.Float64s(all)
	return all
}

func processorSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// processor counts a validator's signatures; in virtual time it charges their seconds.
type processor struct {
	scenario *scenario
	recorder *recorder
}

func (p *processor) sign(height int64) { p.charge(height, 1, 1) }

func (p *processor) verify(height int64, count int) { p.charge(height, 0, count) }

func (p *processor) charge(height int64, signs, verifies int) {
	cost := float64(signs)*p.scenario.SignSeconds + float64(verifies)*p.scenario.VerifySeconds
	p.recorder.update(func() {
		h := p.recorder.at(height)
		h.signs, h.verifies, h.charged = h.signs+signs, h.verifies+verifies, h.charged+cost
	})
	if p.scenario.Runtime == "virtual" {
		time.Sleep(seconds(cost))
	}
}
