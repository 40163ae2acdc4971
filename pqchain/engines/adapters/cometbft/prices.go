package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"

	"github.com/cometbft/cometbft/crypto/encoding"
	"golang.org/x/sys/unix"
)

// price times a scheme with the engine's own code: messages of 117 bytes, the length of a vote's
// signed bytes, and a decoded public key, as validators keep it.
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
	keyType, err := keyType(request.PriceOf, request.Library)
	if err != nil {
		return nil, err
	}
	key, err := generate(keyType)
	if err != nil {
		return nil, err
	}
	public, message := key.PubKey(), make([]byte, 117)
	packed := public.Bytes()
	runtime.LockOSThread()
	var times [3][]float64
	warmup := request.Samples / 5
	for i := range request.Samples + warmup {
		message[0], message[1], message[2] = byte(i), byte(i>>8), byte(i>>16)
		begun := threadSeconds()
		signature, err := key.Sign(message)
		signed := threadSeconds()
		valid := err == nil && public.VerifySignature(message, signature)
		verified := threadSeconds()
		if !valid {
			return nil, fmt.Errorf("%s made an invalid signature", request.PriceOf)
		}
		if _, err := encoding.PubKeyFromTypeAndBytes(keyType, packed); err != nil {
			return nil, err
		}
		decoded := threadSeconds()
		if i >= warmup {
			for k, value := range []float64{signed - begun, verified - signed, decoded - verified} {
				times[k] = append(times[k], value)
			}
		}
	}
	median := func(values []float64) float64 {
		slices.Sort(values)
		return values[len(values)/2]
	}
	return map[string]any{
		"sign_seconds": median(times[0]), "verify_seconds": median(times[1]),
		"decode_key_seconds": median(times[2]), "aggregate_seconds": 0.0,
	}, nil
}

// threadSeconds is the processor time of this thread, so that other work on the computer counts little.
func threadSeconds() float64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return float64(t.Sec) + float64(t.Nsec)/1e9
}
