package firestore_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/store"
	"parley.internal/shared/store/emulator"
	"parley.internal/shared/store/firestore"
)

var (
	things = store.Collection[thing]{Name: "things", Indexes: []string{"name"}, AllUsers: []string{"name"}}
	parts  = store.Collection[thing]{Name: "things/*/parts", Indexes: []string{"name"}}
)

type thing struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

func at(id string) store.Ref { return store.Ref{User: "u", Coll: "things", ID: id} }

func create(id string, f store.Fields) store.Write {
	return store.Write{Action: store.Create, Ref: at(id), Def: things.Def(), Fields: f}
}

func put(id string, f store.Fields) store.Write {
	return store.Write{Action: store.Put, Ref: at(id), Def: things.Def(), Fields: f}
}

func patch(id string, edits ...store.Edit) store.Write {
	return store.Write{Action: store.Patch, Ref: at(id), Def: things.Def(), Edits: edits}
}

func remove(id string) store.Write {
	return store.Write{Action: store.Delete, Ref: at(id), Def: things.Def()}
}

func write(t *testing.T, d *firestore.Driver, writes ...store.Write) {
	t.Helper()
	if err := commit(t, d, writes...); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, d *firestore.Driver, writes ...store.Write) error {
	t.Helper()
	return d.Update(t.Context(), func(context.Context, store.Reads) ([]store.Write, error) { return writes, nil })
}

func read(t *testing.T, d *firestore.Driver, id string) store.Fields {
	t.Helper()
	raws, err := d.Get(t.Context(), []store.Ref{at(id)})
	if err != nil {
		t.Fatal(err)
	}
	if raws[0] == nil {
		return nil
	}
	return raws[0].Fields
}

func byName(name string) store.Plan {
	return store.Plan{User: "u", Coll: "things", Def: things.Def(), Where: []store.Cond{store.Eq("name", name)}, Limit: 5}
}

func emulated(t *testing.T) firestore.Options {
	t.Helper()
	return firestore.Options{EmulatorHost: emulator.Shared(t), Project: emulator.Project(t)}
}

var budgets = []struct {
	name string
	do   func(ctx context.Context, d *firestore.Driver) error
	want map[string]int
}{
	{"a blind create is one commit", func(ctx context.Context, d *firestore.Driver) error {
		return d.Update(ctx, func(context.Context, store.Reads) ([]store.Write, error) {
			return []store.Write{create("new", store.Fields{})}, nil
		})
	}, map[string]int{"Commit": 1}},
	{"reading and writing is a read and a commit", func(ctx context.Context, d *firestore.Driver) error {
		return d.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
			_, err := r.Get(ctx, []store.Ref{at("a"), at("b")})
			return []store.Write{put("a", store.Fields{})}, err
		})
	}, map[string]int{"BatchGetDocuments": 1, "Commit": 1}},
	{"a query is one query", func(ctx context.Context, d *firestore.Driver) error {
		_, err := d.Query(ctx, byName("x"))
		return err
	}, map[string]int{"RunQuery": 1}},
	{"querying and writing is a query and a commit", func(ctx context.Context, d *firestore.Driver) error {
		return d.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
			_, err := r.Query(ctx, byName("x"))
			return []store.Write{put("a", store.Fields{})}, err
		})
	}, map[string]int{"RunQuery": 1, "Commit": 1}},
	{"further reads cost themselves alone", func(ctx context.Context, d *firestore.Driver) error {
		return d.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
			if _, err := r.Query(ctx, byName("x")); err != nil {
				return nil, err
			}
			_, err := r.Get(ctx, []store.Ref{at("a")})
			return []store.Write{put("a", store.Fields{})}, err
		})
	}, map[string]int{"RunQuery": 1, "BatchGetDocuments": 1, "Commit": 1}},
	{"a transaction that changes nothing is rolled back", func(ctx context.Context, d *firestore.Driver) error {
		return d.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
			_, err := r.Get(ctx, []store.Ref{at("a")})
			return nil, err
		})
	}, map[string]int{"BatchGetDocuments": 1, "Rollback": 1}},
	{"consuming is a query and a commit", func(ctx context.Context, d *firestore.Driver) error {
		return d.UpdateUnchanged(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
			_, err := r.Query(ctx, byName("x"))
			return []store.Write{put("a", store.Fields{})}, err
		})
	}, map[string]int{"RunQuery": 1, "Commit": 1}},
	{"consuming nothing is a query", func(ctx context.Context, d *firestore.Driver) error {
		return d.UpdateUnchanged(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
			_, err := r.Query(ctx, byName("x"))
			return nil, err
		})
	}, map[string]int{"RunQuery": 1}},
	{"nothing is nothing", func(ctx context.Context, d *firestore.Driver) error {
		if _, err := d.Get(ctx, nil); err != nil {
			return err
		}
		return d.Update(ctx, func(ctx context.Context, r store.Reads) ([]store.Write, error) {
			_, err := r.Get(ctx, nil)
			return nil, err
		})
	}, map[string]int{}},
}

func TestCallsKeepToTheirBudgetOfRPCs(t *testing.T) {
	t.Parallel()
	for _, tc := range budgets {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opts := emulated(t)
			dial, counted := firestore.CountRPCs()
			opts.GRPC = dial
			d, err := firestore.Open(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.do(t.Context(), d); err != nil {
				t.Error(err)
			}
			if err := d.Close(); err != nil { // waits for the rollback
				t.Error(err)
			}
			if got := counted(); !maps.Equal(got, tc.want) {
				t.Errorf("sent %v, want %v", got, tc.want)
			}
		})
	}
}

func TestARefusedCommitNamesItsDocument(t *testing.T) {
	t.Parallel()
	d := open(t, emulated(t))
	write(t, d, create("there", store.Fields{}), create("there-too", store.Fields{}))
	for _, tc := range []struct {
		name   string
		writes []store.Write
		kind   fault.Kind
		want   string
	}{
		{"created twice", []store.Write{create("a", store.Fields{}), create("there-too", store.Fields{})},
			fault.Exists, `things "there-too" already exists`},
		{"one name begins another", []store.Write{create("there-", store.Fields{}), create("there-too", store.Fields{})},
			fault.Exists, `things "there-too" already exists`},
		{"patched but missing", []store.Write{patch("there", store.Set("n", int64(1))), patch("none", store.Set("n", int64(1)))},
			fault.NotFound, `no things with id "none"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := commit(t, d, tc.writes...)
			if !fault.Is(err, tc.kind) || err.Error() != tc.want {
				t.Errorf("got %v: %v", fault.Of(err), err)
			}
		})
	}
}

func TestEveryKindOfValueComesBack(t *testing.T) {
	t.Parallel()
	d := open(t, emulated(t))
	want := store.Fields{
		"nil": nil, "yes": true, "int": int64(-1 << 53), "float": 2.5, "whole": 3.0, "text": "ü\u2028", "empty": "",
		"time": time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC),
		"list": []any{int64(1), "b", store.Fields{"c": nil}}, "none": []any{},
		"map": store.Fields{"a.b": int64(1), "": "no", "`": store.Fields{}},
	}
	delete(want["map"].(store.Fields), "") // a field has a name
	write(t, d, put("v", want))
	if got := read(t, d, "v"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

func TestAPatchAppliesItsEditsInOrder(t *testing.T) {
	t.Parallel()
	d := open(t, emulated(t))
	before := func() store.Fields {
		return store.Fields{"n": int64(5), "text": "t", "a.b": "dot", "a": store.Fields{"b": "nested"},
			"it`s\\odd": int64(1), "float": 1.5}
	}
	for i, edits := range [][]store.Edit{
		{},
		{store.Add("n", 2)},
		{store.Add("n", 2), store.Add("n", 3), store.Add("fresh", 4), store.Add("float", 1)},
		{store.Set("n", int64(10)), store.Add("n", 2)},
		{store.Add("n", 2), store.Set("n", int64(10))},
		{store.Add("n", 2), store.Unset("n")},
		{store.Unset("n"), store.Add("n", 2)},
		{store.Set("text", "x"), store.Unset("text"), store.Set("text", "y")},
		{store.Set("a.b", "changed"), store.Unset("it`s\\odd"), store.Set("ö x", nil)},
		{store.Set("a", store.Fields{"c": int64(1)})},
		{store.Add("it`s\\odd", 1)},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			id := fmt.Sprint("p", i)
			write(t, d, put(id, before()))
			want := before()
			if err := store.Apply(want, edits); err != nil {
				t.Fatal(err)
			}
			write(t, d, patch(id, edits...))
			if got := read(t, d, id); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v\ngot  %#v\nwant %#v", edits, got, want)
			}
		})
	}
}

func TestADocumentReadTwiceInOneCallIsReturnedTwice(t *testing.T) {
	t.Parallel()
	d := open(t, emulated(t))
	write(t, d, put("a", store.Fields{"n": int64(1)}))
	raws, err := d.Get(t.Context(), []store.Ref{at("a"), at("none"), at("a")})
	if err != nil || raws[0] == nil || raws[1] != nil || raws[2] == nil {
		t.Errorf("got %v, %v", raws, err)
	}
}

func TestOpenRefusesOptionsThatWouldReachTwoDatabases(t *testing.T) {
	t.Setenv(emulator.Variable, "127.0.0.1:1")
	_, err := firestore.Open(t.Context(), firestore.Options{Project: "p"})
	if err == nil || !strings.Contains(err.Error(), emulator.Variable) {
		t.Errorf("got %v", err)
	}
}
