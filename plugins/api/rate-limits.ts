import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpError, Http, RouteInfo, Settings } from 'parley-forum';
import type { ApiOptions, RouteBucket } from 'parley-forum/plugins/api';
import { limitFor, memberKey, type Viewer } from 'parley-forum/plugins/access';
import { tooMany, type Allowance, type Bucket, type Limits } from 'parley-forum/plugins/limits';

/** One bucket for the whole prefix, per member or per IP address. */
const DEFAULT_BUCKET: Bucket = { name: 'api', window: 60 };

export interface RateLimitsDeps {
  readonly limits: Limits;
  readonly http: Http;
  readonly settings: Settings;
}

/** Counts every request under /api, including refused ones. */
export class RateLimits {
  readonly #deps: RateLimitsDeps;

  constructor(options: RateLimitsDeps) {
    this.#deps = options;
  }

  /** `viewer` is undefined if the token is not valid; the request then counts as a guest's. */
  count(
    req: IncomingMessage,
    viewer: Viewer | undefined,
    route: RouteInfo<ApiOptions> | undefined,
  ): Promise<Allowance> {
    const { limits, settings } = this.#deps;
    const own = route?.options.bucket;
    const id = viewer?.id;
    const limit = Number(settings.get(own?.limit ?? (id === undefined ? 'api.rate_limit_ip' : 'api.rate_limit_user')));
    const key = id === undefined ? this.#address(req) : memberKey(id);
    return limits.consume(own ?? DEFAULT_BUCKET, key, viewer ? limitFor(viewer, limit) : limit);
  }

  /** Counts a guest; synchronously where possible. */
  countGuest(req: IncomingMessage, own: RouteBucket | undefined): Allowance | Promise<Allowance> {
    const { limits, settings } = this.#deps;
    const limit = settings.get(own?.limit ?? 'api.rate_limit_ip') as number;
    const key = this.#address(req);
    return limits.consumeNow(own ?? DEFAULT_BUCKET, key, limit) ?? limits.consume(own ?? DEFAULT_BUCKET, key, limit);
  }

  #address(req: IncomingMessage): string {
    const { http, limits } = this.#deps;
    return `ip:${limits.ipKey(http.ip(req))}`;
  }
}

const seconds = (milliseconds: number): string => String(Math.ceil(milliseconds / 1000));

export function setRateHeaders(res: ServerResponse, { limit, remaining, resetAt }: Allowance): void {
  res.setHeader('X-RateLimit-Limit', String(limit));
  res.setHeader('X-RateLimit-Remaining', String(remaining));
  res.setHeader('X-RateLimit-Reset', seconds(resetAt));
}

/** Like `setRateHeaders`, but as alternating names and values for `writeHead`. */
export const rateHeaders = ({ limit, remaining, resetAt }: Allowance): string[] => [
  'X-RateLimit-Limit',
  String(limit),
  'X-RateLimit-Remaining',
  String(remaining),
  'X-RateLimit-Reset',
  seconds(resetAt),
];

export const tooManyRequests = (allowance: Allowance): HttpError =>
  tooMany(allowance, (seconds) => `Too many requests; try again in ${seconds} s`);
