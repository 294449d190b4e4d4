/** A first post with everything that Markdown supports, and with text that tends to break layouts. */
export const LONG = `The bilge pump runs **every twenty minutes**, and I cannot find where the water comes in. What I looked at so far:

1. the stern gland, which drips _as it should_;
2. all sea cocks, with a torch and a dry cloth;
3. the hull where it was mended.

- [x] Rudder
- [ ] Log transducer

## What I measured

| Where | Litres an hour | Since | Remark |
|---|--:|:-:|---|
| Stern gland | 0.2 | May | one drop every five seconds, as the maker of the packing says |
| Below the engine | 3.5 | yesterday | salt |
| Forepeak | 0 | – | dry |

\`\`\`sh
journalctl --unit=bilge --since=yesterday --output=short-iso | awk '/pump on/ { print $1 }' | uniq --count | sort --reverse --numeric-sort
\`\`\`

> Water always finds the shortest way, and it is never the one that you think of.
>
> — @mia

### Links

See https://example.org/boats/a-very-long-address-without-any-place-to-break-it/that-goes-on-and-on-and-on/index.html and \`Donaudampfschifffahrtsgesellschaftskapitänsmützenfabrikationsmaschinenöl\`.

---

Thank you all.`;

/** Replies: short ones, one of many lines, one in a right-to-left script. */
export const SHORT: readonly string[] = [
  'Look at the keel bolts. It is always the keel bolts.',
  'Did you check the hose of the cooling water?\n\nMine had a crack *below* the clamp, where nobody looks. It took me three weekends and a borrowed endoscope to find it.',
  'האם בדקת את האטם של הציר? אצלי זה היה שם.',
  '> It is always the keel bolts.\n\nNot always. But **often**.',
];

/**
 * Titles: ordinary, long, unbreakable, right-to-left, with symbols. The first one is pinned, the second
 * locked.
 */
export const TITLES: readonly string[] = [
  'Water in the bilge, and nobody knows from where',
  'Rules of the yard',
  'A rather long title that goes on for more than one line even on a wide screen, because its author wanted to say everything at once and left nothing for the post',
  'Donaudampfschifffahrtsgesellschaftskapitänsmützenfabrikationsmaschinenölverkäufer gesucht',
  'איך מנקים את הסיפון?',
  'Is <b>epoxy</b> & "tape" enough?',
  ...[
    'Varnish',
    'Sails',
    'Anchors',
    'Winches',
    'Batteries',
    'Charts',
    'Radios',
    'Tides',
    'Ropes',
    'Knots',
    'Trailers',
    'Engines',
    'Propellers',
    'Fenders',
    'Lamps',
    'Stoves',
    'Pumps',
    'Masts',
  ].map((thing) => `${thing}: what do you use, and would you buy them again?`),
];

/** Tags: ordinary, long, right-to-left. */
export const TAGS: readonly string[] = ['engines', 'first aid', 'Donaudampfschifffahrtsmuseum', 'סירות'];
