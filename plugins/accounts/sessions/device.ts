import type { DeviceText } from 'parley-forum/plugins/accounts';

/** More specific patterns first: most browsers also name those they descend from. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?(?:iOS)?\//, 'Edge'],
  [/\bOPR\/|\bOPiOS\//, 'Opera'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bCriOS\/|\bChrome\/|\bChromium\//, 'Chrome'],
  [/\bVersion\/[\d.]+.*\bSafari\//, 'Safari'],
  [/\bcurl\//, 'curl'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

const first = (list: typeof BROWSERS, agent: string): string | undefined =>
  list.find(([sign]) => sign.test(agent))?.[1];

const UNKNOWN = 'Unknown device';
const BETWEEN = ' on ';

/**
 * The browser and operating system from a `User-Agent`, such as "Firefox on Linux". Clients can claim anything, so it
 * is only shown to the owner of the session.
 */
export function deviceOf(agent: string | undefined): string {
  const text = (agent ?? '').slice(0, 500);
  const browser = first(BROWSERS, text);
  const system = first(SYSTEMS, text);
  if (browser && system) return `${browser}${BETWEEN}${system}`;
  return browser ?? system ?? UNKNOWN;
}

/** See `Sessions.deviceText`. */
export function deviceText(device: string | undefined): DeviceText {
  if (device === undefined || device === UNKNOWN) return { text: 'accounts:device.unknown' };
  const [browser, system] = device.split(BETWEEN);
  return system === undefined ? { text: 'accounts:device.one', browser } : { text: 'accounts:device', browser, system };
}
