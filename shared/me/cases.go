package me

import "parley.internal/shared/op"

func cases() op.Cases {
	// It answers every caller about itself alone.
	rights := op.Rights{Program: op.OwnOnly, Unbound: op.OwnOnly, Human: op.OwnOnly}
	return op.Cases{RPCs: op.NoRPCs, Rights: rights, Examples: []op.Example{
		{},
		{Name: "with a human's key", As: op.Human},
		{Name: "with a key of no program", As: op.Unbound},
	}, Refused: []op.Refusal{
		{Name: "an unknown field", In: `{"name":"alpha"}`, Path: "name", Words: "is not a field"},
	}}
}
