package main

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/p2p"
)

// runVirtual runs the validators on the fake clock of testing/synctest, which advances when every
// goroutine waits: computing takes no time but what is charged. Connections are pipes in memory.
func runVirtual(t *testing.T, s *scenario, id json.RawMessage) {
	synctest.Test(t, func(*testing.T) {
		v, err := newValidators(s)
		if err != nil {
			finish(id, nil, nil, err)
		}
		if err := p2p.StartSwitches(v.switches); err != nil {
			finish(id, nil, nil, err)
		}
		for i := range v.switches {
			for j := range i {
				p2p.Connect2Switches(v.switches, j, i)
			}
		}
		records := v.run(func(index int) {
			// The validator says nothing more; its peers notice that the connections are closed.
			_ = v.nodes[index].ConsensusReactor().Stop()
			_ = v.switches[index].Stop()
			time.Sleep(time.Millisecond)
		})
		// The engine's goroutines end with the process.
		finish(id, records, map[string]any{}, nil)
	})
}
