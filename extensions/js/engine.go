package js

import (
	_ "embed" // the prelude is part of the binary
	"errors"
	"fmt"
	"time"

	"modernc.org/quickjs"
)

//go:embed prelude.js
var preludeSource string

// maxMessage and maxLog bound an error's text and a log line, in characters.
const (
	maxMessage = 8 << 10
	maxLog     = 8 << 10
)

// hostCall is the only function through which the machine reaches Go: an operation, its invocation and a text. Only
// some operations return an answer.
type hostCall func(operation string, invocation int, text string) string

// engine is one QuickJS machine with the prelude loaded. All methods but interrupt belong to the goroutine that owns
// it. Another engine would replace this type: nothing else in the package knows QuickJS.
type engine struct {
	vm                                  *quickjs.VM
	register, invoke, settle, fire, end quickjs.Value
}

// compilePrelude compiles the prelude to bytecode: parsing it is most of the cost of a new machine.
func compilePrelude() ([]byte, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("make a JavaScript machine: %w", err)
	}
	defer func() { _ = vm.Close() }()
	code, err := vm.Compile(preludeSource, quickjs.EvalGlobal)
	if err != nil {
		return nil, fmt.Errorf("compile the prelude: %w", err)
	}
	return code, nil
}

// newEngine makes a machine with the compiled prelude and a heap of at most memory bytes; settings is the prelude's
// argument, as JSON.
func newEngine(memory int, prelude, settings []byte, host hostCall) (*engine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("make a JavaScript machine: %w", err)
	}
	e := &engine{vm: vm}
	if err := e.prepare(memory, prelude, settings, host); err != nil {
		e.close()
		return nil, fmt.Errorf("prepare a JavaScript machine: %w", err)
	}
	return e, nil
}

func (e *engine) prepare(memory int, prelude, settings []byte, host hostCall) error {
	e.vm.SetMemoryLimit(uintptr(memory))
	// Atomics.wait would block the goroutine, and no interrupt could reach it.
	e.vm.SetCanBlock(false)
	err := e.vm.RegisterHostFunc("__host", func(args []any) (any, error) {
		if len(args) != 3 {
			return nil, errors.New("the host function takes three arguments")
		}
		operation, _ := args[0].(string)
		text, _ := args[2].(string)
		return host(operation, number(args[1]), text), nil
	})
	if err != nil {
		return err
	}
	start, err := e.vm.EvalBytecodeValue(prelude)
	if err != nil {
		return err
	}
	defer start.Free()
	functions, err := start.CallValue(quickjs.UndefinedValue, string(settings))
	if err != nil {
		return err
	}
	defer functions.Free()
	for name, to := range map[string]*quickjs.Value{
		"register": &e.register, "invoke": &e.invoke, "settle": &e.settle, "fire": &e.fire, "end": &e.end,
	} {
		atom, err := e.vm.NewAtom(name)
		if err != nil {
			return err
		}
		if *to, err = functions.GetPropertyValue(atom); err != nil {
			return err
		}
	}
	return nil
}

// number reads an integer that JavaScript returned.
func number(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case int32:
		return int(n)
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return -1
}

// limit bounds the next call into JavaScript.
func (e *engine) limit(d time.Duration) { _ = e.vm.SetEvalTimeout(max(d, time.Nanosecond)) }

// load evaluates the bundle and passes its exports to the prelude, which reports through the host function. The error
// is the one that the extension threw at its top level.
func (e *engine) load(code string) error {
	exports, err := e.vm.EvalValue(code, quickjs.EvalGlobal)
	if err != nil {
		var thrown *quickjs.Error
		if errors.As(err, &thrown) && thrown.Message != "" {
			return errors.New(clip(thrown.Message, maxMessage))
		}
		if err.Error() == "null" {
			// The engine throws null if no memory is left for an error.
			return errors.New("null (thrown by the extension, or there was no memory left for an error)")
		}
		return errors.New(clip(err.Error(), maxMessage))
	}
	defer exports.Free()
	return e.call(e.register, exports)
}

func (e *engine) call(function quickjs.Value, args ...any) error {
	result, err := function.CallValue(quickjs.UndefinedValue, args...)
	if err != nil {
		return err
	}
	result.Free()
	return nil
}

// drain runs promise jobs; more reports that some are left.
func (e *engine) drain() (more bool, err error) {
	const most = 1 << 20 // the number after which the engine itself yields
	n, err := e.vm.ExecutePendingJobs()
	if n >= most {
		return true, nil
	}
	return false, err
}

// interrupt ends the running JavaScript; any goroutine may call it, even after close.
func (e *engine) interrupt() { e.vm.Interrupt() }

// close frees the machine, whose memory the garbage collector does not manage.
func (e *engine) close() {
	for _, v := range []*quickjs.Value{&e.register, &e.invoke, &e.settle, &e.fire, &e.end} {
		if v.VM() != nil {
			v.Free()
		}
	}
	_ = e.vm.Close()
}

func clip(s string, most int) string {
	if len(s) > most {
		return s[:most]
	}
	return s
}
