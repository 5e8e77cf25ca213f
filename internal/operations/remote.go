package operations

import (
	"time"

	"harness/internal/runtime"
)

// RemoteError is the failure of an operation at another node. errors.Is finds the sentinels of its code.
type RemoteError struct {
	Code       Code
	Message    string
	Retry      bool          `json:",omitempty"`
	RetryAfter time.Duration `json:",omitempty"`
	// Native is the runtime's own refusal, or nil.
	Native *NativeError `json:",omitempty"`
}

// NativeError is the part of a runtime's refusal that clients get.
type NativeError struct {
	Code    int
	Message string
}

// Remote returns an error as another node gets it.
func Remote(err error) *RemoteError {
	f := Classify(err)
	out := &RemoteError{Code: f.Code, Message: f.Message, Retry: f.Retry, RetryAfter: f.RetryAfter}
	if f.Native != nil {
		out.Native = &NativeError{f.Native.Code, f.Native.Message}
	}
	return out
}

// Error implements error.
func (e *RemoteError) Error() string { return e.Message }

// Is reports whether the error of the other node had the code of target.
func (e *RemoteError) Is(target error) bool {
	return e.Code != CodeInternal && Classify(target).Code == e.Code
}

// remote makes the row of failures at other nodes.
func remote() row {
	one := typed[*RemoteError](CodeInternal)
	one.refine = func(_ error, f *Failure) {
		found := CauseOf[*RemoteError](*f)
		f.Code, f.Message, f.Retry, f.RetryAfter = found.Code, found.Message, found.Retry, found.RetryAfter
		if found.Native != nil {
			f.Native = &runtime.Error{Code: found.Native.Code, Message: found.Native.Message}
		}
	}
	return one
}
