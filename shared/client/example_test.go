package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"parley.internal/shared/client"
	"parley.internal/shared/dispatch"
	"parley.internal/shared/fault"
)

// parley stands in for a server.
func parley() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/tasks", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"success":true,"data":{"taskId":"t1","status":"created","target":"builder"},"meta":{}}`)
	})
	mux.HandleFunc("GET /v1/tasks", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"success":true,"data":{"tasks":[{"id":"t1","title":"Mend the build"}]},"meta":{}}`)
	})
	mux.HandleFunc("POST /v1/tasks/{taskId}/claim", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(
			w,
			`{"success":false,"error":{"code":"FAILED_PRECONDITION","message":"beta has claimed it","details":[]},"meta":{}}`,
		)
	})
	return httptest.NewServer(mux)
}

func ExampleNew() {
	server := parley()
	defer server.Close()
	c, err := client.New(server.URL+"/mcp", "parley_local_secret", client.WithUserAgent("nightly/1.0"))
	if err != nil {
		log.Fatal(err)
	}
	task, err := c.CreateTask(context.Background(), dispatch.CreateInput{Title: "Mend the build", Target: "builder"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.TaskID, task.Status)
	// Output: t1 created
}

func ExampleError() {
	server := parley()
	defer server.Close()
	c, err := client.New(server.URL, "parley_local_secret")
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.ClaimTask(context.Background(), dispatch.ClaimInput{TaskID: "t1"})
	var e *client.Error
	switch {
	case fault.Is(err, fault.Precondition):
		fmt.Println("somebody else works on it:", err)
	case errors.As(err, &e) && e.Uncertain:
		fmt.Println("look at the task before you claim it again; the request was", e.RequestID)
	case err != nil:
		log.Fatal(err)
	}
	// Output: somebody else works on it: beta has claimed it
}

func ExampleAwait() {
	server := parley()
	defer server.Close()
	c, err := client.New(server.URL, "parley_local_secret")
	if err != nil {
		log.Fatal(err)
	}
	list, err := client.Await(
		context.Background(),
		c,
		time.Hour,
		func(ctx context.Context, wait time.Duration) (dispatch.ListOutput, bool, error) {
			out, err := c.GetTasks(ctx, dispatch.ListInput{Target: "builder", WaitMs: int(wait.Milliseconds())})
			return out, len(out.Tasks) > 0, err
		},
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(list.Tasks[0].Title)
	// Output: Mend the build
}
