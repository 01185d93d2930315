package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"parley.internal/shared/app"
)

// deployment is the input of Terraform: the functions, and the operations that can wait, whose latency is not monitored.
type deployment struct {
	Reactions []reaction `json:"reactions"`
	Sweeps    []sweep    `json:"sweeps"`
	Waiting   []string   `json:"waiting"`
}

type reaction struct {
	Name       string `json:"name"`
	Collection string `json:"collection"`
	EventType  string `json:"eventType"`
}

type sweep struct {
	Name         string `json:"name"`
	Function     string `json:"function"`
	EverySeconds int    `json:"everySeconds"`
}

// infraFiles returns the files that Terraform reads. They are inside its own directory, because its module can be used
// without the rest of the repository. The rules are a copy of the hand-written file in the root; without that file there
// is no copy.
func infraFiles(root string, indexes []byte) ([]file, error) {
	functions, err := functionsJSON(app.New(nil, app.Ports{}))
	if err != nil {
		return nil, err
	}
	out := []file{{"infra/generated/firestore.indexes.json", indexes}, {"infra/generated/functions.json", functions}}
	rules, err := os.ReadFile(filepath.Join(root, "firestore.rules"))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	return append(out, file{"infra/generated/firestore.rules", rules}), err
}

func functionsJSON(a *app.App) ([]byte, error) {
	var d deployment
	for _, r := range a.Reactions() {
		eventType := "google.cloud.firestore.document.v1." + string(r.Kind)
		d.Reactions = append(d.Reactions, reaction{r.Name, r.Collection, eventType})
	}
	for _, s := range a.Sweeps() {
		d.Sweeps = append(d.Sweeps, sweep{s.Name, s.Function, int(s.Every.Seconds())})
	}
	for _, o := range a.Catalogue().Ops() {
		if o.Wait != "" {
			d.Waiting = append(d.Waiting, o.Name)
		}
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}
