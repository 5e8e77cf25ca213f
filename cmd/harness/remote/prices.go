package remote

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"harness/client"
)

func (c *commands) prices() *cobra.Command {
	return group("prices", "List and set what models cost, in US dollars per million tokens", c.listPrices(), c.setPrice(), c.removePrice())
}

func (c *commands) listPrices() *cobra.Command {
	return c.one("list", "List the prices that were set and the built-in ones",
		func(cmd *cobra.Command, api *client.Client, _ []string) error {
			answer, err := read[json.RawMessage](api.ListPrices(cmd.Context()))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.ListPrices200JSONResponseBody) error {
				var rows [][]string
				for _, p := range body.Data {
					by := text(p.SetBy)
					if p.BuiltIn {
						by = "built in, " + body.BuiltInSince.String()
					}
					rows = append(rows, []string{text(p.ID), p.Model, text(p.From), dollars(p.InputMicros), dollars(p.CachedInputMicros),
						dollars(p.OutputMicros), by})
				}
				return table(cmd.OutOrStdout(), []string{"PRICE", "MODEL", "FROM", "INPUT", "CACHED", "OUTPUT", "BY"}, rows)
			})
		})
}

func (c *commands) setPrice() *cobra.Command {
	var input, cached, output, from string
	cmd := c.one("set MODEL", "Set what a model costs from a day on. MODEL may end with * for all names that start so",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			body := client.SetPriceJSONRequestBody{Model: args[0], From: given[string](from)}
			for name, amount := range map[string]struct {
				text string
				to   *int
			}{"input": {input, &body.InputMicros}, "cached": {cached, &body.CachedInputMicros}, "output": {output, &body.OutputMicros}} {
				micros, err := amountOf(name, amount.text)
				if err != nil {
					return err
				}
				*amount.to = micros
			}
			answer, err := read[json.RawMessage](api.SetPrice(cmd.Context(), body))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(body client.SetPrice200JSONResponseBody) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), text(body.Price.ID))
				return err
			})
		})
	cmd.Flags().StringVar(&input, "input", "", "US dollars per million input tokens")
	cmd.Flags().StringVar(&cached, "cached", "", "the same for input tokens from the cache")
	cmd.Flags().StringVar(&output, "output", "", "the same for output tokens")
	cmd.Flags().StringVar(&from, "from", "", "first day (UTC), as 2026-01-02 (default: today)")
	return cmd
}

// amountOf parses US dollars into millionths.
func amountOf(flag, text string) (int, error) {
	amount, err := strconv.ParseFloat(text, 64)
	if err != nil || !(amount >= 0 && amount <= 1000) {
		return 0, usage("--%s is required: US dollars per million tokens, 0 to 1000", flag)
	}
	return int(math.Round(amount * 1e6)), nil
}

// dollars formats millionths of a US dollar.
func dollars(micros int) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(float64(micros)/1e6, 'f', 6, 64), "0"), ".")
}

func (c *commands) removePrice() *cobra.Command {
	return c.one("remove PRICE", "Remove a price that was set, given its id; an earlier or built-in one applies again",
		func(cmd *cobra.Command, api *client.Client, args []string) error {
			answer, err := read[json.RawMessage](api.RemovePrice(cmd.Context(), args[0]))
			if err != nil {
				return err
			}
			return show(c, cmd.OutOrStdout(), answer, func(struct{}) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), args[0])
				return err
			})
		})
}
