-- Takes one call from every limit, or from none: a bucket that fills evenly, kept as the time at which it will be full again.
-- KEYS: one for each limit. ARGV: for each limit, in microseconds, what one call costs and how much the bucket holds.
-- Answers 0, or after how many microseconds the call would be taken. The time is the server's, so that replicas' clocks do not matter.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wait = 0
local full = {}
for i, key in ipairs(KEYS) do
    local cost, size = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    -- A clock that was set back must not shut anybody out: no bucket is emptier than empty.
    local before = math.min(tonumber(redis.call('GET', key) or 0), now + size)
    full[i] = math.max(before, now) + cost
    wait = math.max(wait, full[i] - size - now)
end
if wait > 0 then
    return wait
end
for i, key in ipairs(KEYS) do
    redis.call('SET', key, string.format('%.0f', full[i]), 'PX', math.ceil((full[i] - now) / 1000))
end
return 0
