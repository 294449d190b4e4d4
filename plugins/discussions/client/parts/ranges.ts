/**
 * Lets Shift-click tick a range of checkboxes: all from the last one that was clicked get the state of this one.
 * `boxes` returns those that are in the list at that moment, in its order.
 */
export function tickRanges(list: HTMLElement, boxes: () => readonly HTMLInputElement[], signal?: AbortSignal): void {
  let last: HTMLInputElement | undefined;
  list.addEventListener(
    'click',
    ({ target, shiftKey }) => {
      const all = boxes();
      if (!(target instanceof HTMLInputElement) || !all.includes(target)) return;
      const start = last && all.includes(last) ? last : target;
      const [from, to] = [all.indexOf(start), all.indexOf(target)].toSorted((a, b) => a - b);
      if (shiftKey) for (const box of all.slice(from, to)) box.checked = target.checked;
      last = target;
    },
    signal && { signal },
  );
}
