-- Sends messages to conversations in turn; prints the figures of the run as JSON in its last line.

local conversations, number = 0, 0
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  conversations = tonumber(arguments[1])
  failed = 0
  wrk.method = "POST"
  wrk.path = "/v1/messages"
  wrk.headers["Authorization"] = "Bearer sb_live_bench"
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  number = number + 1
  -- The users of the generated database begin at 43.
  local conversation = number * 7 % conversations + 1
  return wrk.format(nil, nil, nil, string.format(
    '{"conversation_id":"%d","user_id":"%d","message":"Hello, is my order on its way? Thanks a lot 👍","attachments":[]}',
    conversation, 43 + conversation % 400))
end

function response(status, headers, body)
  if status ~= 200 or not body:find('"status":"sent"', 1, true) then
    if failed == 0 then
      io.stderr:write(status, " ", body, "\n")
    end
    failed = failed + 1
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  for _, thread in ipairs(threads) do
    lost = lost + thread:get("failed")
  end
  io.write(string.format('{"requests":%d,"failed":%d,"rate":%.1f,"p50":%d,"p99":%d}\n', summary.requests, lost,
    summary.requests / summary.duration * 1e6, latency:percentile(50), latency:percentile(99)))
end
