package wire

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"harness/internal/runtime"
)

// providerFailure is the meaning of an HTTP status of a model provider, and the remedy.
type providerFailure struct {
	kind   error
	remedy string
}

// again ends the remedies that require a step before the retry.
const again = ", then send the message again."

// providerFailures are the HTTP statuses of model providers, for all runtimes.
var providerFailures = map[int]providerFailure{
	400: {runtime.ErrInvalidParams,
		"The model provider refused the request (400). Check the session's model and its settings" + again},
	401: {runtime.ErrAuthRequired, "Log in to the model provider or check its API key" + again},
	402: {runtime.ErrLimitReached,
		"The account at the model provider has no credit left (402). Add credit, or choose another provider or model" + again},
	403: {runtime.ErrAuthRequired,
		"The login or API key may not use this model (403). Log in with another one, have the provider allow it, or choose " +
			"another model" + again},
	404: {runtime.ErrNotFound,
		"The model provider knows no such model, or its address is wrong (404). Check the model's name and the provider's address" + again},
	408: {runtime.ErrProviderTimeout, "The model provider waited too long for the request (408). Send the message again later."},
	413: {runtime.ErrTooLarge, "The request is too large for the model provider (413). Leave out images or long texts, compact the " +
		"conversation or begin a new one" + again},
	422: {runtime.ErrInvalidParams,
		"The model provider cannot use the request (422). Check the session's model and its settings" + again},
	429: {runtime.ErrLimitReached, "The model provider's limit is reached. Wait or raise the limit" + again},
	500: {runtime.ErrProvider, "The model provider has a problem of its own (500). Send the message again later."},
	502: {runtime.ErrProvider, "A gateway got no valid answer of the model provider (502). Check a proxy in between, or send the " +
		"message again later."},
	503: {runtime.ErrProvider, "The model provider is out of service for now (503). Send the message again later."},
	504: {runtime.ErrProviderTimeout,
		"A gateway waited in vain for the model provider (504). Check a proxy in between, or send the message again later."},
	529: {runtime.ErrProvider,
		"The model provider is overloaded (529). Send the message again in some minutes, or choose another model."},
}

// meant maps the vocabulary's words for a failure without a status to the status with the same meaning.
var meant = map[string]int{"unauthorized": 401, "usageLimitExceeded": 429}

// ofStatus returns the row of a status, or the general one of its kind.
func ofStatus(status int) (providerFailure, bool) {
	if row, known := providerFailures[status]; known {
		return row, true
	}
	number := "(" + strconv.Itoa(status) + ")"
	switch {
	case status >= 500 && status < 600:
		return providerFailure{runtime.ErrProvider,
			"The model provider has a problem of its own " + number + ". Send the message again later."}, true
	case status >= 400 && status < 500:
		return providerFailure{runtime.ErrInvalidParams,
			"The model provider refused the request " + number + ". Check the session's model and its settings" + again}, true
	}
	return providerFailure{}, false
}

// statusIn has the forms in which agents write their provider's status into a text.
var statusIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:unexpected status|last status:?|api error:?(?: repeated)?|http(?: error| status)?:?|` +
		`status(?: ?code)?["']?[:= ]+|"code":)\s*\(?([45]\d\d)\b`)
})

// sentence is a text that agents and providers use instead of a status, with that status.
type sentence struct {
	status int
	said   *regexp.Regexp
}

var sentences = sync.OnceValue(func() []sentence {
	return []sentence{
		{http.StatusPaymentRequired, regexp.MustCompile(`(?i)\binsufficient (?:balance|credits?)\b|\brequires more credits\b|` +
			`\bcredit balance is too low\b`)},
		{http.StatusNotFound, regexp.MustCompile(`(?i)there's an issue with the selected model|` +
			`\bmodels/\S+ is not found for api version|\bpublisher model \S+ (?:was |is )?not found|` +
			`\bthe model [\x60'"]\S+[\x60'"] does not exist\b|\bno endpoints found for\b|^(?:internal error: )?model: \S+(?: \{|$)`)},
		{http.StatusRequestEntityTooLarge, regexp.MustCompile(`(?i)\brequest (?:entity )?(?:is )?too large\b|` +
			`\bpayload too large\b|\brequest exceeds the maximum size\b`)},
		{http.StatusTooManyRequests, regexp.MustCompile(`(?i)\brate[ _-]?limit|\btoo many requests\b|\bexceeded your current quota\b`)},
		{529, regexp.MustCompile(`(?i)\bprovider is overloaded\b`)},
	}
})

// saidAtMost is the number of bytes of a text to search for a status. The status is near the beginning.
const saidAtMost = 16 << 10

// StatusIn returns the HTTP status of a model provider in a text, 0 for none.
func StatusIn(text string) int {
	text = text[:min(len(text), saidAtMost)]
	if found := statusIn().FindStringSubmatch(text); found != nil {
		status, _ := strconv.Atoi(found[1]) // three digits are a number
		return status
	}
	for _, one := range sentences() {
		if one.said.MatchString(text) {
			return one.status
		}
	}
	return 0
}

// Texts give the end of a limit in these forms.
var (
	resetIn = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets_in_seconds|retry[_-]after(?:_seconds)?|retryDelay|retry after)` +
			`["']?\s*[:=]?\s*["']?(\d+(?:\.\d+)?)`)
	})
	resetAt = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:resets_at["']?\s*[:=]\s*["']?|limit reached\|)(\d{10})\b`)
	})
	resetSaid = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:try again|retry|resets?)\s+` +
			`((?:in|at|on|after)\s+[\w:+/() -]{1,40}(?:\.\d+\w*)?|\d[\w: ]{0,12}(?:\([\w/]+\))?)`)
	})
)

// reset returns the end of a limit in a text ("in 20 s", "at 3:05 PM"), "" without one.
func reset(text string) string {
	if found := resetIn().FindStringSubmatch(text); found != nil {
		return "in " + found[1] + " s"
	}
	if found := resetAt().FindStringSubmatch(text); found != nil {
		seconds, _ := strconv.ParseInt(found[1], 10, 64) // ten digits are a number
		return "at " + time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04 UTC")
	}
	if found := resetSaid().FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// failure is a turn's error in the form runtimes use.
type failure struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"`
	Details string          `json:"additionalDetails"`
	Status  int             `json:"httpStatusCode"`

	OfProvider bool `json:"ofProvider"`

	// word is Info's kind, status the HTTP status of the model provider, 0 for none.
	word   string
	status int
}

func readFailure(raw json.RawMessage) (e failure, readable bool) {
	if json.Unmarshal(brief(raw), &e) != nil {
		return e, false
	}
	word, status := wordOf(e.Info)
	status = cmp.Or(e.Status, status)
	if status == 0 && word != "usageLimitExceeded" && word != "contextWindowExceeded" {
		status = StatusIn(e.Message)
	}
	if same := meant[word]; same != 0 && status != 402 && status != 403 {
		status = same // the runtime has more facts: some providers refuse a key with 400
	}
	e.word, e.status = word, status
	return e, true
}

// providerStatus returns the status of the model provider's refusal, 0 when a turn's error has none.
func providerStatus(raw json.RawMessage) int {
	e, _ := readFailure(raw)
	return e.status
}

// failureKind classifies a turn's error and returns its remedy. It uses the status of the model provider, otherwise
// the kind (codexErrorInfo). Without both it returns nil and "".
func failureKind(raw json.RawMessage) (kind error, remedy string) { //nolint:staticcheck // kind is a result, not a failure
	e, readable := readFailure(raw)
	if !readable {
		return nil, ""
	}
	word, status := e.word, e.status
	if word == "contextWindowExceeded" {
		return runtime.ErrTooLarge,
			"The message or the conversation is too long for the model. Leave out images or long texts, compact the conversation or " +
				"begin a new one" + again
	}
	if row, known := ofStatus(status); known {
		if at := reset(e.Message + "\n" + e.Details); status == 429 && at != "" {
			return row.kind, "The model provider's limit is reached; it ends " + at + ". Wait until then or raise the limit" + again
		}
		return row.kind, row.remedy
	}
	if kind, remedy = ofWord(word); kind == nil && e.OfProvider {
		return runtime.ErrProvider, refusedUnnamed
	}
	return kind, remedy
}

// refusedUnnamed is the remedy for a failure of the provider when the agent does not pass on the status.
const refusedUnnamed = "The model provider gave no answer, and the agent does not pass on its status. Read what it says; check the " +
	"session's model, the login, the account at the provider and its address" + again

// wordOf returns the kind of a failure with its status.
func wordOf(info json.RawMessage) (word string, status int) {
	var byWord map[string]struct {
		Status int `json:"httpStatusCode"`
	}
	if json.Unmarshal(info, &word) != nil && json.Unmarshal(info, &byWord) == nil {
		for name, detail := range byWord {
			word, status = name, detail.Status
		}
	}
	return word, status
}

// ofWord classifies a failure without a status.
func ofWord(word string) (kind error, remedy string) { //nolint:staticcheck // kind is a result, not a failure
	switch word {
	case "serverOverloaded", "internalServerError":
		return runtime.ErrProvider, "The model provider has a problem of its own. Send the message again later."
	case "responseStreamDisconnected", "responseStreamConnectionFailed", "httpConnectionFailed",
		"responseTooManyFailedAttempts":
		return runtime.ErrProvider,
			"The connection to the model provider failed. Check the network and the provider's address, then send the message again."
	case "badRequest":
		return runtime.ErrInvalidParams, ""
	}
	return nil, ""
}
