import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpError, Http, RouteInfo, Settings } from 'parley-forum';
import { isStaff, type Viewer } from 'parley-forum/plugins/access';
import { tooMany, type Allowance, type Bucket, type Limits } from 'parley-forum/plugins/limits';

/** One bucket for the whole prefix, per member or per address. */
const GENERAL: Bucket = { name: 'api', window: 60 };
/** Moderators work through queues. */
const STAFF_FACTOR = 5;

export interface OwnBucket extends Bucket {
  /** Key of the setting that says how much it holds. */
  readonly limit: string;
}
export const bucketOf = (route: RouteInfo | undefined): OwnBucket | undefined =>
  route?.options['bucket'] as OwnBucket | undefined;

export interface RateOptions {
  readonly limits: Limits;
  readonly http: Http;
  readonly settings: Settings;
}

/** Counts every request below /api, whatever becomes of it. */
export class Rates {
  readonly #options: RateOptions;

  constructor(options: RateOptions) {
    this.#options = options;
  }

  /** `viewer` undefined: somebody whose token is bad; counted like a guest. */
  count(req: IncomingMessage, viewer: Viewer | undefined, route: RouteInfo | undefined): Promise<Allowance> {
    const { limits, settings } = this.#options;
    const own = bucketOf(route);
    const member = viewer?.id !== undefined;
    const limit = Number(settings.get(own?.limit ?? (member ? 'api.rate_limit_user' : 'api.rate_limit_ip')));
    const key = member ? `user:${viewer.id}` : this.#address(req);
    return limits.consume(own ?? GENERAL, key, viewer && isStaff(viewer) ? limit * STAFF_FACTOR : limit);
  }

  /** Counts a guest; at once where that can be. */
  countGuest(req: IncomingMessage, own: OwnBucket | undefined): Allowance | Promise<Allowance> {
    const { limits, settings } = this.#options;
    const limit = settings.get(own?.limit ?? 'api.rate_limit_ip') as number;
    const key = this.#address(req);
    return limits.consumeNow(own ?? GENERAL, key, limit) ?? limits.consume(own ?? GENERAL, key, limit);
  }

  #address(req: IncomingMessage): string {
    const { http, limits } = this.#options;
    return `ip:${limits.addressKey(http.addressOf(req))}`;
  }
}

const seconds = (milliseconds: number): string => String(Math.ceil(milliseconds / 1000));

export function showRate(res: ServerResponse, { limit, remaining, resetAt }: Allowance): void {
  res.setHeader('X-RateLimit-Limit', String(limit));
  res.setHeader('X-RateLimit-Remaining', String(remaining));
  res.setHeader('X-RateLimit-Reset', seconds(resetAt));
}

/** As `showRate`, as names and values in turn for `writeHead`. */
export const rateHeaders = ({ limit, remaining, resetAt }: Allowance): string[] => [
  'X-RateLimit-Limit',
  String(limit),
  'X-RateLimit-Remaining',
  String(remaining),
  'X-RateLimit-Reset',
  seconds(resetAt),
];

export const tooManyCalls = (allowance: Allowance): HttpError =>
  tooMany(allowance, (seconds) => `Too many requests; try again in ${seconds} s`);
