/** What machine-made texts are put together from. Each paragraph is Markdown that stands by itself. */
export const subjects = [
  'the forward bilge pump', 'a laminated tiller', 'the shore power inlet', 'my second-hand mainsail', 'the stern gland', 'a cracked frame', 'the anchor windlass',
  'the masthead light', 'an old depth sounder', 'the galley stove', 'a sprung plank', 'the fuel filter', 'the forestay turnbuckle', 'a borrowed sextant',
  'the AIS receiver', 'the water tank', 'a cold-moulded hull', 'the reefing lines', 'the alternator belt', 'the companionway hatch', 'a leaking portlight',
  'the rudder bearing', 'the cabin heater', 'a wooden block', 'the mooring chain', 'the paper charts', 'an outboard bracket', 'the battery monitor',
] as const;

export const openings = [
  'What would you do about', 'Finally mended', 'Another winter with', 'Questions about', 'How I ended up replacing', 'A short report on', 'Is it worth keeping',
  'Three mistakes with', 'Looking for advice on', 'Before and after:', 'The strange noise from', 'Drawings of', 'Measuring', 'How long should one trust', 'Notes on',
] as const;

export const endings = [
  'after a wet summer', 'on a small budget', 'with photographs', 'before the launch', 'in a hurry', 'for a beginner', 'on a river boat', 'without a workshop',
  'at the third attempt', 'for the long way south', 'when nobody is watching', 'in salt water', 'on an older boat', 'the slow way', '(solved, I think)',
] as const;

export const paragraphs = [
  'I had the same trouble two seasons ago. In the end it was **corrosion under the clamp**, which one cannot see without taking it apart.',
  'Measure twice. The drawing says 38 mm, mine was nearer 41, and the yard that built her is a supermarket now.',
  'If it helps, here is the order in which I would look:\n\n1. the easy thing you have already looked at\n2. the fuse\n3. the earth\n4. the thing you mended last',
  'Thank you all. I went down this evening with a lamp and a mirror, and there it was, exactly where the second answer said.',
  '> Is it worth keeping?\n\nYes, if the keel bolts are sound. Everything else is only time.',
  'The tide was wrong all week, so I read the old logbooks instead. In 1974 the owner wrote: *pump stopped, went sailing*. I like him.',
  'For what it is worth, the numbers from last night, engine off and one cabin light on:\n\n| hour | volts |\n| --- | --- |\n| 20:00 | 12.71 |\n| 23:00 | 12.58 |\n| 06:00 | 12.31 |',
  'I would not use silicone there. It never comes off, and nothing sticks to where it was.',
  'Could you post a picture from below? From here it looks like the plank rather than the seam, and that would be a different evening altogether.',
  'My neighbour on the pontoon swears by linseed oil. My other neighbour swears at it. Both have handsome boats.',
  'We came in at dusk with two reefs and no engine, which sounds better than it was. *The harbour lights are not where the chart has them.*',
  'The little program that reads the sensor, in case somebody wants it:\n\n```\nread = (raw - zero) / span\nif read < low for 30 s: alarm\n```',
  'Two coats thinned by half, one coat as it comes, a day between them, and do not open the tin in the sun.',
  'It depends on the boat. I know that is what everyone says, and I know why they say it now.',
  'Please fuse it **at the battery**, not at the other end of the boat. The cable is what burns.',
  'Somebody asked about the cost. Timber 140, glue 35, sandpaper more than I will admit, and a pair of trousers.',
  'The part number on mine is worn off, but the bearing is a standard one and any shop for tractors has it.',
  'I tried it with the water out of the tank and the noise was gone, so at least we know that it is the tank.',
  'There is a drawing in the back of the manual, page 44, which shows it the wrong way round. I wrote to them. They wrote back: *yes*.',
  'Going down again on Saturday. If the wind stays in the north I shall have nothing else to do, and I will report.',
  'Agreed with the last answer, with one addition: - not a dash of oil, a *dab* of grease. It has to stay where you put it.',
  'In our harbour the rule is that whoever breaks it buys the coffee, and whoever mends it drinks it.',
  'You can hear it best with a broom handle: one end on the housing, the other at your ear, and a straight face if anybody comes by.',
  'Old boats do this. New boats do it too, only more quietly and with a warranty.',
] as const;

export const names = [
  'marlow', 'tern', 'kestrel', 'osprey', 'juniper', 'rowan', 'alder', 'hazel', 'finn', 'isla', 'skye', 'mull', 'orla', 'bram', 'lotte', 'anke', 'sven', 'nele', 'ida', 'jonas',
  'maren', 'arne', 'silje', 'pilar', 'inigo', 'luz', 'tomas', 'vera', 'milan', 'zora', 'petrel', 'curlew', 'dunlin', 'plover', 'garnet', 'amber', 'slate', 'flint', 'cedar', 'larch',
] as const;
