// Command gen turns the raw recordings of codex-manager into compact recordings without paths for the contract test:
//
//	go run ./tests/contract/gen DIR-OF-RAW-RECORDINGS tests/contract/testdata
//
// It keeps HTTP exchanges whole. Of websocket frames it drops raw response items (the model's prompt, megabytes) and
// all but the first delta of an item (the model determines their number). It also drops the params that an
// app_server.* frame shares with the notification after it, and the content of a frame that an earlier socket already
// got. It omits dumps of the recorded server's internal files.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"harness/tests/contract"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen DIR-OF-RAW-RECORDINGS TESTDATA")
		os.Exit(2)
	}
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.jsonl"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no recordings in %s", os.Args[1])
	}
	for _, file := range files {
		if err == nil {
			topic := strings.TrimSuffix(filepath.Base(file), ".jsonl")
			err = convert(file, filepath.Join(os.Args[2], topic+".jsonl.gz"))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// raw is a line of a raw recording, with the members to keep.
type raw struct {
	Kind, Name, Conn, Event, Dir, Control, Path, Text string
	Server                                            map[string]any
	Request                                           struct {
		Method, Path string
		Headers      map[string]any
		Body         *string
	}
	Response struct {
		Status  int
		Headers [][2]string
		Body    string
	}
	Headers              json.RawMessage
	Protocols            []string
	Status               int
	Body                 string
	Binary               bool
	Data                 string
	Code                 *int
	Reason               *string
	SentHex, ReceivedHex string
	// At is when it ended, in ms since the recorder started. MS is its duration.
	At, MS int
}

func convert(from, to string) error {
	file, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	c := converter{sent: map[string]string{}, deltas: map[string]bool{}}
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	var records []contract.Record
	var at []int
	scanner := bufio.NewScanner(bytes.NewReader(file))
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var line raw
		if err := json.Unmarshal([]byte(sanitise(scanner.Text())), &line); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if record, keep := c.record(line); keep {
			records, at = append(records, record), append(at, line.At)
			if line.Kind == "http" {
				sink(records, at, line.At-line.MS-1)
			}
		}
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	encoder := json.NewEncoder(packed)
	encoder.SetEscapeHTML(false)
	for _, record := range records {
		if err := encoder.Encode(record); err != nil {
			return err
		}
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, out.Bytes(), 0o600)
}

// sink moves the last record before the frames that arrived after its request was sent. The record is an exchange
// noted at its end. The exchange may have caused the frames, so the replay must not wait for them first.
func sink(records []contract.Record, at []int, start int) {
	for i := len(records) - 1; i > 0 && records[i-1].Kind == contract.KindFrame && at[i-1] >= start; i-- {
		records[i-1], records[i] = records[i], records[i-1]
		at[i-1], at[i] = at[i], at[i-1]
	}
}

// sanitise replaces the recorder's folders, the longest first.
func sanitise(line string) string {
	return strings.NewReplacer("/home/dev/lab/work", "{{WORK}}", "/home/dev/lab/src", "{{ROOT}}", "/home/dev/lab/home/dev",
		"{{LAB}}/home", "/home/dev/lab", "{{LAB}}", "/home/dev", "{{HOME}}").Replace(line)
}

type converter struct {
	// sent stores which socket got a frame first. deltas stores which deltas were kept.
	sent   map[string]string
	deltas map[string]bool
}

func (c *converter) record(line raw) (contract.Record, bool) {
	switch line.Kind {
	case "meta":
		env := map[string]string{}
		for key, value := range line.Server {
			if text, is := value.(string); is && strings.ToUpper(key) == key {
				env[key] = text
			}
		}
		return contract.Record{Kind: contract.KindMeta, Env: env}, true
	case "http":
		r := contract.Record{
			Kind: contract.KindHTTP, Name: line.Name, Method: line.Request.Method, Path: line.Request.Path,
			Body: line.Request.Body, Status: line.Response.Status, ResponseBody: line.Response.Body,
			ResponseHeaders: keep(line.Response.Headers),
		}
		for key, value := range line.Request.Headers {
			if key != "content-length" {
				r.Headers = append(r.Headers, [2]string{key, fmt.Sprint(value)})
			}
		}
		return r, true
	case "raw-ws":
		return contract.Record{Kind: contract.KindRaw, Name: line.Name, Sent: line.SentHex, Received: line.ReceivedHex}, true
	case "note":
		return contract.Record{Kind: contract.KindNote, Name: line.Text}, true
	case "ws":
		return c.socket(line)
	}
	return contract.Record{}, false
}

// keep returns the headers that matter to a client.
func keep(headers [][2]string) [][2]string {
	var kept [][2]string
	for _, h := range headers {
		switch strings.ToLower(h[0]) {
		case "content-type", "sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions":
			kept = append(kept, [2]string{strings.ToLower(h[0]), h[1]})
		}
	}
	return kept
}

func (c *converter) socket(line raw) (contract.Record, bool) {
	r := contract.Record{Conn: line.Conn}
	switch {
	case line.Event == "connect":
		r.Kind, r.Path, r.Protocols = contract.KindOpen, line.Path, line.Protocols
		var headers map[string]string
		if json.Unmarshal(line.Headers, &headers) == nil {
			for key, value := range headers {
				r.Headers = append(r.Headers, [2]string{key, value})
			}
		}
	case line.Event == "upgrade":
		var headers [][2]string
		if json.Unmarshal(line.Headers, &headers) != nil {
			return r, false
		}
		r.Kind, r.Status, r.ResponseHeaders = contract.KindUpgrade, line.Status, keep(headers)
	case line.Event == "unexpected-response":
		r.Kind, r.Status, r.ResponseBody = contract.KindRefused, line.Status, line.Body
	case line.Event == "close":
		r.Kind = contract.KindClosed
		if line.Code != nil {
			r.Code = *line.Code
		}
		if line.Reason != nil {
			r.Reason = *line.Reason
		}
	case line.Dir == "client":
		r.Kind, r.Control, r.Binary, r.Data = contract.KindSend, line.Control, line.Binary, line.Data
		if line.Code != nil {
			r.Code = *line.Code
		}
		if line.Reason != nil {
			r.Reason = *line.Reason
		}
	case line.Dir == "server" && line.Control != "":
		r.Kind, r.Control, r.Data = contract.KindFrame, line.Control, line.Data
	case line.Dir == "server":
		return c.frame(line)
	default:
		return r, false
	}
	return r, true
}

func (c *converter) frame(line raw) (contract.Record, bool) {
	f, err := contract.ParseFrame([]byte(line.Data))
	if err != nil {
		return contract.Record{Kind: contract.KindFrame, Conn: line.Conn, Data: line.Data}, true
	}
	if f.Dropped() {
		return contract.Record{}, false
	}
	if id := f.DeltaItem(); id != "" {
		key := line.Conn + " " + f.Type + " " + f.Method + " " + id
		if c.deltas[key] {
			return contract.Record{}, false
		}
		c.deltas[key] = true
	}
	r := contract.Record{Kind: contract.KindFrame, Conn: line.Conn, Type: f.Type, Method: f.Method, Thread: f.Thread,
		Detail: f.Detail}
	if first, seen := c.sent[line.Data]; seen && first != line.Conn {
		r.Same = true
		return r, true
	}
	c.sent[line.Data] = line.Conn
	r.Data = string(f.Reduced())
	return r, true
}
