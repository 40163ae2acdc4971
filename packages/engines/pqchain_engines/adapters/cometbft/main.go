// Command engine-cometbft runs CometBFT as released. It reads one scenario, a line of JSON, and writes
// a JSON line per height and a last one with "done" or "error". A line with "price_of" times a scheme.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
)

const version = "0.40.0"

func main() {
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	if err != nil && len(line) == 0 {
		return
	}
	var request struct {
		ID      json.RawMessage `json:"id"`
		PriceOf string          `json:"price_of"`
		Runtime string          `json:"runtime"`
	}
	request.ID = json.RawMessage("null")
	if err := json.Unmarshal(line, &request); err != nil {
		finish(request.ID, nil, nil, fmt.Errorf("invalid request: %w", err))
	}
	if request.PriceOf != "" {
		prices, err := price(line)
		finish(request.ID, nil, prices, err)
	}
	s, err := parse(line)
	if err != nil {
		finish(request.ID, nil, nil, err)
	}
	if s.Runtime == "virtual" {
		// The fake clock of testing/synctest needs a test; one processor makes runs more alike.
		runtime.GOMAXPROCS(1)
		// The engine handles SIGHUP; the runtime's goroutine for signals must start outside the test.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		os.Args = os.Args[:1]
		match := func(string, string) (bool, error) { return true, nil }
		run := func(t *testing.T) { runVirtual(t, s, request.ID) }
		testing.Main(match, []testing.InternalTest{{Name: "run", F: run}}, nil, nil)
		return
	}
	records, err := runSockets(s)
	finish(request.ID, records, map[string]any{}, err)
}

// finish writes the answer and ends the process, with all goroutines of the engine.
func finish(id json.RawMessage, records []map[string]any, last map[string]any, err error) {
	out := bufio.NewWriter(os.Stdout)
	write := json.NewEncoder(out)
	if err != nil {
		records, last = nil, map[string]any{"error": err.Error()}
	} else {
		last["done"], last["version"] = true, version
	}
	for _, record := range append(records, last) {
		record["id"] = id
		if err := write.Encode(record); err != nil {
			fmt.Fprintln(os.Stderr, "engine-cometbft:", err)
			os.Exit(1)
		}
	}
	if err := out.Flush(); err != nil {
		os.Exit(1)
	}
	removeFolder()
	os.Exit(0)
}
