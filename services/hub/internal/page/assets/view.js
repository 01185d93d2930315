// The base of all views: a view loads its data, draws them, and names the changes that concern it.
import { api } from '/assets/api.js';
import { toast } from '/assets/dialog.js';

// View is the base of the elements of the views. A view sets title and kinds, and has load(signal) and draw(data).
export class View extends HTMLElement {
  // kinds are those of the feed's events that concern the view.
  kinds = [];
  title = 'Parley';
  stale = true;

  concerns(event) { return this.kinds.includes(event.kind); }

  // refresh loads and draws; the element is filled before it is seen.
  async refresh(signal) {
    const data = await this.load(signal);
    if (signal?.aborted) return;
    this.stale = false;
    this.last = data;
    this.draw(data);
  }

  // again redraws the last data, after a filter changed without new data.
  again() { if (this.last) this.draw(this.last); }

  // doing makes a call for a person, shows its end, and loads the view again.
  async doing(path, options, done) {
    try {
      const out = await api(path, options);
      if (done) toast(done);
      this.update();
      return out;
    } catch (e) {
      toast(e.message);
      return null;
    }
  }

  // update asks the shell to load the view again now.
  update() {
    this.stale = true;
    this.dispatchEvent(new CustomEvent('stale', { bubbles: true }));
  }
}
