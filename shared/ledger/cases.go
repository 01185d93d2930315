package ledger

import "parley.internal/shared/op"

func usageCases() op.Cases {
	return op.Cases{Rights: op.Rights{Program: op.May, Unbound: op.May, Human: op.May}, Examples: []op.Example{
		{},
		{Name: "by program", In: op.In{"groupBy": "program", "from": "2026-02-01", "to": "2026-03-01"}},
		{Name: "by day, up to a time", As: op.Human, In: op.In{"groupBy": "day", "to": "2026-03-01T23:59:59Z"}},
		{Name: "by transport", In: op.In{"groupBy": "transport"}},
		{Name: "single records", In: op.In{"records": true, "limit": 1}},
	}, Refused: []op.Refusal{
		{Name: "an unknown group", In: `{"groupBy":"user"}`, Path: "groupBy",
			Words: "must be one of tool, program, day, transport"},
		{Name: "a day that is a word", In: `{"from":"yesterday"}`, Path: "from",
			Words: "must be a date as 2026-11-01 or a time"},
		{Name: "a month that does not exist", In: `{"to":"2026-13-01"}`, Path: "to",
			Words: "must be a date as 2026-11-01 or a time"},
		{Name: "an unknown cursor", In: `{"cursor":"xyz"}`, Path: "cursor", Words: "use the one that came with the page before"},
		{Name: "an unknown cursor of records", In: `{"records":true,"cursor":"xyz"}`, Path: "cursor",
			Words: "use the one that came with the page before"},
		{Name: "days in the wrong order", In: `{"from":"2026-03-02","to":"2026-03-01"}`, Path: "from",
			Words: "must not be after to, which is 2026-03-01"},
		{Name: "more than a year", In: `{"from":"2024-01-01","to":"2026-03-01"}`, Path: "from",
			Words: "must be less than 366 days before to"},
	}}
}
