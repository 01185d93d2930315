//go:build !laptop

package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	functions "google.golang.org/api/cloudfunctions/v2"
	scheduler "google.golang.org/api/cloudscheduler/v1"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"

	"parley.internal/shared/app"
)

// deployed holds the functions of a project by name, with one entry for each region of a function.
type deployed struct {
	byName      map[string][]*functions.Function
	unreachable []string
}

func (c *Cloud) functions(ctx context.Context, s *session) (d deployed, err error) {
	service, err := functions.NewService(ctx, option.WithHTTPClient(s.client))
	if err != nil {
		return d, err
	}
	region := c.Region
	if region == "" {
		region = "-"
	}
	d.byName = map[string][]*functions.Function{}
	err = service.Projects.Locations.Functions.List("projects/"+c.Project+"/locations/"+region).Pages(ctx,
		func(page *functions.ListFunctionsResponse) error {
			for _, f := range page.Functions {
				name := f.Name[strings.LastIndex(f.Name, "/")+1:]
				d.byName[name] = append(d.byName[name], f)
			}
			d.unreachable = append(d.unreachable, page.Unreachable...)
			return nil
		})
	return d, err
}

var seeFunctions = right{"cloudfunctions.functions.list", "roles/cloudfunctions.viewer"}

// nameOf returns the name of a function in the Terraform configuration: OnTaskCreate is parley-on-task-create.
func (c *Cloud) nameOf(function string) string {
	var b strings.Builder
	b.WriteString(c.Name)
	for _, r := range function {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// function returns a function by name, nil if there is none, and the findings about it.
func (c *Cloud) function(d deployed, name string) (f *functions.Function, found []Result) {
	all := d.byName[name]
	switch {
	case len(all) == 0 && len(d.unreachable) > 0:
		return nil, []Result{
			warn(name+" is not found, and Google cannot list all regions at the moment", "run it again in a minute")}
	case len(all) == 0 && c.Region != "":
		return nil, []Result{
			fail(name+" is not in "+c.Region,
				"omit --region, or name the region of the deployment; or "+c.again())}
	case len(all) == 0:
		return nil, []Result{fail(name+" is missing", c.again())}
	case len(all) > 1:
		found = append(found,
			warn(fmt.Sprintf("%s is in %d regions, and each of them runs", name, len(all)),
				"delete the one in the abandoned region"))
	}
	f = all[0]
	about := ""
	for _, m := range f.StateMessages {
		if m.Severity == "ERROR" || m.Severity == "WARNING" {
			about += ": " + m.Message
		}
	}
	switch {
	case f.State == "DEPLOYING":
		found = append(found, warn(name+" is being deployed", "wait for it"))
	case f.State != "ACTIVE":
		found = append(found, fail(name+" is "+f.State+about, c.again()))
	case about != "":
		found = append(found, warn(name+about, c.again()))
	}
	return f, found
}

// triggers checks the functions that react to document changes.
func (c *Cloud) triggers(ctx context.Context, s *session) Result {
	d, err := c.functions(ctx, s)
	if err != nil {
		return c.refusal(s, err, seeFunctions)
	}
	var all []Result
	for _, r := range c.Reactions {
		name := c.nameOf(r.Name)
		f, found := c.function(d, name)
		if f != nil {
			found = append(found, c.trigger(name, r, f.EventTrigger)...)
		}
		all = append(all, found...)
	}
	return sum(ok("%d functions receive changes", len(c.Reactions)), all)
}

func (c *Cloud) trigger(name string, r app.Reaction, t *functions.EventTrigger) (found []Result) {
	if t == nil || t.Trigger == "" {
		return []Result{fail(name+" has no trigger, so it receives no changes", c.again())}
	}
	event := "google.cloud.firestore.document.v1." + string(r.Kind)
	if t.EventType != event {
		found = append(found, fail(fmt.Sprintf("%s receives %s, not %s", name, t.EventType, event), c.again()))
	}
	document := "users/{uid}/" + r.Collection + "/{id}"
	about := map[string]string{}
	for _, f := range t.EventFilters {
		about[f.Attribute] = f.Value
	}
	if about["document"] != document || about["database"] != "(default)" {
		found = append(found,
			fail(
				fmt.Sprintf("%s receives %q of the database %q, not %s of (default)", name, about["document"],
					about["database"], document), c.again()))
	}
	if t.RetryPolicy != "RETRY_POLICY_RETRY" {
		found = append(found, warn(name+" does not retry failed events", c.again()))
	}
	return found
}

// sweeps checks the scheduled functions and the jobs that start them.
func (c *Cloud) sweeps(ctx context.Context, s *session) Result {
	d, err := c.functions(ctx, s)
	if err != nil {
		return c.refusal(s, err, seeFunctions)
	}
	service, err := scheduler.NewService(ctx, option.WithHTTPClient(s.client))
	if err != nil {
		return fail(err.Error(), "")
	}
	var all []Result
	for _, sweep := range c.Sweeps {
		f, found := c.function(d, c.nameOf(sweep.Function))
		all = append(all, found...)
		if f == nil {
			continue
		}
		region := strings.Split(f.Name, "/")[3]
		id := c.Name + "-" + sweep.Name
		job, err := service.Projects.Locations.Jobs.Get("projects/" + c.Project + "/locations/" + region + "/jobs/" +
			id).Context(ctx).Do()
		switch {
		case missing(err):
			all = append(all, fail("the job "+id+" is missing, so nothing starts the sweep", c.again()))
		case err != nil:
			// Google would refuse the other jobs as well.
			return sum(Result{},
				append(all, c.refusal(s, err, right{"cloudscheduler.jobs.get", "roles/cloudscheduler.viewer"})))
		default:
			all = append(all, c.job(id, region, sweep, job)...)
		}
	}
	return sum(ok("%d scheduled functions ran on time", len(c.Sweeps)), all)
}

// grace is the tolerated delay of a sweep, in addition to one missed run.
const grace = 10 * time.Minute

func (c *Cloud) job(id, region string, sweep app.Sweep, job *scheduler.Job) (found []Result) {
	if job.State != "ENABLED" {
		found = append(found,
			fail("the job "+id+" is "+job.State,
				fmt.Sprintf("gcloud scheduler jobs resume %s --location %s --project %s", id, region, c.Project)))
	}
	logs := fmt.Sprintf("gcloud functions logs read %s --region %s --project %s", c.nameOf(sweep.Function), region,
		c.Project)
	// The code of a job that has not run is negative.
	if job.Status != nil && job.Status.Code > 0 {
		said := fmt.Sprintf("the last run of %s ended with %v", id, codes.Code(job.Status.Code))
		if job.Status.Message != "" {
			said += ": " + job.Status.Message
		}
		found = append(found, fail(said, logs))
	}
	last, err := time.Parse(time.RFC3339, job.LastAttemptTime)
	switch late := c.Now().Sub(last); {
	case err != nil:
		found = append(found,
			warn(id+" has not run yet",
				fmt.Sprintf("wait for it, or gcloud scheduler jobs run %s --location %s --project %s", id, region,
					c.Project)))
	case job.State == "ENABLED" && late > 2*sweep.Every+grace:
		found = append(found, fail(fmt.Sprintf("%s did not run for %v", id, late.Round(time.Minute)), logs))
	}
	return found
}
