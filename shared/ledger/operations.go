package ledger

import "parley.internal/shared/op"

// GroupBy is the criterion by which usage is grouped.
type GroupBy string

// The criteria.
const (
	ByTool      GroupBy = "tool"
	ByProgram   GroupBy = "program"
	ByDay       GroupBy = "day"
	ByTransport GroupBy = "transport"
)

// noProgram is the key of the group of unbound keys. No program can have that name.
const noProgram = "(none)"

// UsageInput is the input of get_usage.
type UsageInput struct {
	From    string  `json:"from,omitempty" allow:"max=40" jsonschema:"first day, as 2026-11-01 or a time; 30 days up to to where left out"`
	To      string  `json:"to,omitempty" allow:"max=40" jsonschema:"last day, counted too; today where left out"`
	GroupBy GroupBy `json:"groupBy,omitempty" allow:"enum=tool|program|day|transport,default=tool"`
	Records bool    `json:"records,omitempty" jsonschema:"the single calls of the last 30 days, newest first, in place of totals"`
	Cursor  string  `json:"cursor,omitempty" allow:"max=2000" jsonschema:"a nextCursor"`
	Limit   int     `json:"limit,omitempty" allow:"min=1,max=200,default=50" jsonschema:"of records"`
}

// Group holds the totals of the calls of one group.
type Group struct {
	Key string `json:"key"`
	Totals
}

// UsageOutput is the output of get_usage.
type UsageOutput struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	GroupBy GroupBy `json:"groupBy"`
	Groups  []Group `json:"groups"`
	Total   Totals  `json:"total"`
	// Records are the calls of a page, for an input with Records.
	Records    []Record `json:"records,omitzero"`
	NextCursor string   `json:"nextCursor,omitempty" jsonschema:"there is more: groups of the same key, and totals, of several pages add up"`
}

// Operations returns the operations of the toolset ledger.
func (s *Service) Operations() []op.Op {
	return []op.Op{
		op.New(op.Spec{Name: "get_usage", Title: "Usage and cost", Toolset: "ledger", Route: "GET /v1/usage",
			Effect: op.Read, Cases: usageCases,
			Doc: "See usage and spending: how many calls, errors, milliseconds, tokens and dollars, by tool, " +
				"program, day (UTC) or transport; with records, single calls. The latest calls show after a few seconds."}, s.Usage),
	}
}
