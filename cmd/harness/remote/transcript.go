package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"harness/client"
)

// most is the maximum number of entries per request.
const most = 1000

func (c *commands) transcript() *cobra.Command {
	upsert := c.one("upsert SESSION [FILE]",
		"Write transcript entries: one JSON object, or one a line; without FILE from standard input",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			input := cmd.InOrStdin()
			if len(args) > 1 && args[1] != "-" {
				file, err := os.Open(args[1])
				if err != nil {
					return usage("the entries cannot be read: %w", err)
				}
				defer file.Close()
				input = file
			}
			entries, err := readEntries(input)
			if err != nil {
				return err
			}
			written := 0
			for len(entries) > 0 {
				n := min(most, len(entries))
				body, err := json.Marshal(map[string]any{"entries": entries[:n]})
				if err != nil {
					return err
				}
				answer, err := read[json.RawMessage](api.UpsertSessionTranscriptEntriesWithBody(cmd.Context(), args[0],
					"application/json", bytes.NewReader(body)))
				if err != nil {
					return fmt.Errorf("%w (%d entries were written before)", err, written)
				}
				entries, written = entries[n:], written+n
				if c.asksJSON() {
					if _, err := fmt.Fprintln(cmd.OutOrStdout(), string(answer)); err != nil {
						return err
					}
				}
			}
			if c.asksJSON() || c.quiet {
				return nil
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d entries written\n", written)
			return err
		})
	return group("transcript", "Write entries into the transcript of a session", upsert)
}

// readEntries reads consecutive JSON objects, each on one line or on several.
func readEntries(input io.Reader) ([]json.RawMessage, error) {
	decoder := json.NewDecoder(input)
	var entries []json.RawMessage
	for {
		var entry json.RawMessage
		err := decoder.Decode(&entry)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && entry[0] != '{' {
			err = errors.New("it is no object")
		}
		if err != nil {
			return nil, usage("entry %d, before byte %d: %w; nothing was written", len(entries)+1, decoder.InputOffset(), err)
		}
		entries = append(entries, entry)
	}
	if len(entries) == 0 {
		return nil, usage("there is no entry to write")
	}
	return entries, nil
}
