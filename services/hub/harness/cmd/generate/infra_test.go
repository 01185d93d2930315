package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley.internal/shared/app"
)

func TestTerraformGetsTheFunctionsAndTheWaitingOperations(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	made, err := infraFiles(root, []byte("indexes"))
	if err != nil || len(made) != 2 || string(made[0].text) != "indexes" {
		t.Fatalf("%d files, %v", len(made), err)
	}
	var d deployment
	if err := json.Unmarshal(made[1].text, &d); err != nil {
		t.Fatal(err)
	}
	want := reaction{"OnTaskCreate", "tasks", "google.cloud.firestore.document.v1.created"}
	if !slices.Contains(d.Reactions, want) {
		t.Errorf("the reactions are %v", d.Reactions)
	}
	if want := (sweep{"relay", "CleanupExpiredRelay", 900}); !slices.Contains(d.Sweeps, want) {
		t.Errorf("the sweeps are %v", d.Sweeps)
	}
	if len(d.Reactions)+len(d.Sweeps) != 7 {
		t.Errorf("there are %d functions", len(d.Reactions)+len(d.Sweeps))
	}
	for _, o := range app.New(nil, app.Ports{}).Catalogue().Ops() {
		if (o.Wait != "") != slices.Contains(d.Waiting, o.Name) {
			t.Errorf("%s has the wait %q; those that can wait are %v", o.Name, o.Wait, d.Waiting)
		}
	}
}

func TestTerraformGetsTheRulesOfTheRoot(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "firestore.rules"), []byte("rules"), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := infraFiles(root, nil)
	if err != nil || len(made) != 3 || made[2].name != "infra/generated/firestore.rules" ||
		string(made[2].text) != "rules" {
		t.Errorf("%v, %v", made, err)
	}
}
